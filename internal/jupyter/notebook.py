"""What nbconvert leaves to be done with an executed notebook of certspec.

    python notebook.py tidy FILE.ipynb    name the language for those who colour code
    python notebook.py page FILE.ipynb    write FILE.html, which needs no network
    python notebook.py slides FILE.ipynb PARTS   write FILE.slides.html of the parts 1 to 3, say, for PARTS = 1-3
"""
import html
import re
import sys

import nbformat

CODE_OR_FORMULA = re.compile(
    r"(?P<code>^```.*?^```|`+[^`]+`+)"
    r"|\$\$(?P<block>.+?)\$\$"
    r"|(?<![\\\w$])\$(?P<line>[^\s$](?:[^$]*[^\s$])?)\$(?![\d$])",
    re.DOTALL | re.MULTILINE,
)
SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>", re.DOTALL)


def tidy(notebook):
    """GoNB does not name its lexer, and code without one is not coloured."""
    notebook.metadata.setdefault("language_info", {})["pygments_lexer"] = "go"
    for cell in notebook.cells:
        if "outputs" in cell:  # progress leaves an empty element
            cell.outputs = [o for o in cell.outputs if o.get("data", {}).get("text/html") != ""]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                picture = output.metadata.setdefault("image/png", {})
                picture.setdefault("alt", data.get("text/plain", "").strip())
    return notebook


class Formulas:
    """Stand-ins for formulas, which pass through Markdown unchanged."""

    def __init__(self):
        self.found = []

    def take(self, text):
        return CODE_OR_FORMULA.sub(self.stand_in, text)

    def stand_in(self, match):
        if match["code"]:
            return match[0]
        from latex2mathml.converter import convert

        block = match["block"] is not None
        formula = convert(match["block"] or match["line"], display="block" if block else "inline")
        if ">\\" in formula:
            raise SystemExit(f"a command that does not become MathML in {match[0]}")
        self.found.append(formula)
        return f"FormulaNo{len(self.found) - 1}End"

    def put(self, page):
        return re.sub(r"FormulaNo(\d+)End", lambda m: self.found[int(m[1])], page)


def page(notebook):
    """The notebook as HTML, with its formulas as MathML, which browsers set themselves."""
    from nbconvert import HTMLExporter

    formulas, captions = Formulas(), []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = formulas.take(cell.source)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" not in data and ("image/svg+xml" in data or "image/png" in data):
                captions.append(html.escape(data.get("text/plain", "").strip()))
            if "text/markdown" in data:
                data["text/markdown"] = formulas.take(data["text/markdown"])
    body, _ = HTMLExporter().from_notebook_node(notebook)
    # Code in an output would have the letters of its text.
    body = body.replace("</head>", "<style>.jp-RenderedMarkdown pre { font-family: monospace }</style></head>", 1)
    # The template leaves the alternative text open, in the order of the pictures.
    parts = body.split('alt="No description has been provided for this image"')
    if len(parts) != len(captions) + 1:
        raise SystemExit(f"{len(parts) - 1} pictures in the page, {len(captions)} in the notebook")
    body = parts[0] + "".join(f'alt="{caption}"{part}' for caption, part in zip(captions, parts[1:]))
    # MathJax, RequireJS and Mermaid would come over the network; nothing here needs them.
    body = SCRIPT.sub(lambda m: "" if "https://" in m[0] and "data-certspec" not in m[0] else m[0], body)
    for address in re.findall(r"""<(?:script|link|img)\b[^>]*?(?:src|href)=["'](https?:[^"']+)""", body):
        raise SystemExit(f"the page would load {address} from the network")
    for cell in notebook.cells:
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            body = fold(body, cell.id)
    return formulas.put(body)


def fold(body, cell):
    """Plumbing that JupyterLab shows as one line is one line of the page, too, which opens."""
    name = body.index(f'id="cell-id={cell}"')
    start = body.index('<div class="jp-Cell-inputWrapper"', name)
    end = body.find('<div class="jp-Cell-outputWrapper"', start)
    following = body.find('<div class="jp-Cell ', start)
    if end < 0 or 0 <= following < end:  # it has no output
        end = body.rindex("</div>", start, following if following >= 0 else body.index("</main>", start))
    line = '<details class="certspec-code"><summary style="color:#777;margin-left:6em">code</summary>'
    return body[:start] + line + body[start:end] + "</details>" + body[end:]


PART = re.compile(r"^## (\d+)\. ")
# For the last row: figures as large as there is room, and lines of code that end on the slide.
SLIDES = """<style>.reveal .jp-OutputArea :is(img, svg) { zoom: 1.4; max-width: 68vw }
.reveal .jp-InputArea pre { font-size: 14px !important; white-space: pre-wrap }</style>"""


def slides(notebook, parts):
    """The cells of some parts, whose headings are numbered. A slide begins at a heading and with a cell: what a code
    cell shows is a slide, and its code, from four lines on, the next one."""
    from nbconvert import SlidesExporter
    from traitlets.config import Config

    first, _, last = parts.partition("-")
    wanted, kept, part = range(int(first), int(last or first) + 1), [], 0
    for cell in notebook.cells:
        # A heading may stand in the middle of a cell, where a part ends.
        pieces = re.split(r"(?m)^(?=## )", cell.source) if cell.cell_type == "markdown" else [cell.source]
        for piece in pieces:
            heading = PART.match(piece)
            part = int(heading[1]) if heading else 0 if piece.startswith("## ") else part
            if part not in wanted or not piece.strip():
                continue
            one = nbformat.from_dict(cell)
            one.source = piece
            hidden = one.metadata.get("jupyter", {}).get("source_hidden")
            one.metadata["slideshow"] = {"slide_type": "slide" if heading else "-" if hidden else "subslide"}
            kept.append(one)
            if one.get("outputs") and not hidden and piece.count("\n") > 2:
                kept.append(nbformat.from_dict(one | {"outputs": []}))
            if one.get("outputs") or hidden:
                one.metadata["tags"] = ["outputs only"]
    if not kept:
        raise SystemExit(f"no part {parts} in the notebook: headings as in '## 1. A title' begin one")
    notebook.cells = kept
    remove = {"enabled": True, "remove_input_tags": {"outputs only"}}
    exporter = SlidesExporter(config=Config(TagRemovePreprocessor=remove), reveal_scroll=True, reveal_theme="simple")
    body, _ = exporter.from_notebook_node(notebook)
    return body.replace("</head>", SLIDES + "</head>", 1)


def main(task, file, *parts):
    notebook = tidy(nbformat.read(file, as_version=4))
    if task == "tidy":
        nbformat.write(notebook, file)
    elif task == "slides":
        body = slides(notebook, *parts)
        with open(re.sub(r"\.ipynb$", "", file) + ".slides.html", "w", encoding="utf-8") as out:
            out.write(body)
    else:
        with open(re.sub(r"\.ipynb$", "", file) + ".html", "w", encoding="utf-8") as out:
            out.write(page(notebook))


if __name__ == "__main__":
    main(*sys.argv[1:])

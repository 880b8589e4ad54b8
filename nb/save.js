(function () {
  const files = FILES, name = NAME;
  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  for (const menu of document.querySelectorAll('[data-certspec-save="MENU"]:not([data-awake])')) {
    menu.setAttribute("data-awake", "");
    menu.hidden = false;
    menu.style.display = "block";
    if (menu.previousElementSibling) menu.style.margin = "-10px 0 0";
    else menu.closest(".jp-OutputArea-child")?.style.setProperty("margin-top", "-10px");
    const picture = () => [...document.querySelectorAll("img, svg[aria-label]")]
      .filter((e) => e.compareDocumentPosition(menu) & Node.DOCUMENT_POSITION_FOLLOWING).pop();
    const drawing = (e) => {
      if (e.tagName !== "IMG") return new XMLSerializer().serializeToString(e);
      const [head, data] = e.src.split(/,(.*)/s);
      if (head.includes("svg")) return head.endsWith("base64") ? new TextDecoder().decode(bytes(data)) : decodeURIComponent(data);
      const size = `width="${e.naturalWidth}" height="${e.naturalHeight}"`;
      return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><image ${size} href="${e.src}"/></svg>`;
    };
    const pixels = async (e) => {
      const image = new Image();
      image.src = "data:image/svg+xml," + encodeURIComponent(drawing(e));
      await image.decode();
      const canvas = document.createElement("canvas"), scale = drawing(e).includes("<image ") && e.src ? 1 : 3;
      canvas.width = scale * image.width, canvas.height = scale * image.height;
      const on = canvas.getContext("2d");
      on.fillStyle = "white";
      on.fillRect(0, 0, canvas.width, canvas.height);
      on.drawImage(image, 0, 0, canvas.width, canvas.height);
      return new Promise((done) => canvas.toBlob(done));
    };
    const made = async (kind) => {
      if (kind === "svg") return new Blob([drawing(picture())], { type: "image/svg+xml" });
      if (kind === "png") return pixels(picture());
      const packed = new Blob([bytes(files[kind])]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Response(packed).blob();
    };
    menu.addEventListener("change", async () => {
      const kind = menu.value;
      menu.value = "";
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await made(kind));
      link.download = name + "." + kind;
      link.click();
    });
    // What a drawing says where one points is seen once it is a part of the page.
    setTimeout(() => {
      const e = files.svg === undefined && !files.tex && picture();
      if (!e || e.tagName !== "IMG" || !drawing(e).includes("<title>")) return;
      const part = new DOMParser().parseFromString(drawing(e), "image/svg+xml").documentElement;
      part.style.maxWidth = "100%";
      part.style.height = "auto";
      e.replaceWith(part);
    }, 300);
  }
})();

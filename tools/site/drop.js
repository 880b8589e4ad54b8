const byId = (id) => document.getElementById(id);
const support = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));

function report(name, kind, verdict, words, head, lines) {
  const box = document.createElement("section");
  const add = (tag, className, content) => {
    const e = box.appendChild(document.createElement(tag));
    e.className = className;
    e.textContent = content;
    return e;
  };
  box.className = "result " + kind;
  box.dataset.file = name;
  add("h2", "verdict", verdict);
  add("p", "", name);
  add("pre", "words", words);
  if (lines) {
    add("h3", "", head);
    add("pre", "lines", lines).tabIndex = 0;
  }
  byId("results").prepend(box);
}

// receive gives take the files that are dropped or chosen.
function receive(take) {
  const drop = byId("drop");
  byId("file").addEventListener("change", (e) => {
    take([...e.target.files]);
    e.target.value = "";
  });
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (e) => {
      e.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    take([...e.dataTransfer.files]);
  });
}

(function () {
  const data = DATA;
  for (const widget of document.querySelectorAll('[data-certspec-widget="WIDGET"]:not([data-awake])')) {
    widget.setAttribute("data-awake", "");
    widget.querySelector("[data-asleep]")?.remove();
    const inputs = [...widget.querySelectorAll("input")];
    const outputs = [...widget.querySelectorAll("output")];
    const frame = widget.querySelector("[data-frame]");
    const show = () => {
      let choice = 0;
      inputs.forEach((input, i) => {
        outputs[i].textContent = data.values[i][input.value];
        choice = choice * data.values[i].length + Number(input.value);
      });
      frame.innerHTML = data.frames[choice].map((piece) => data.pieces[piece]).join("");
    };
    for (const input of inputs) {
      input.disabled = false;
      input.addEventListener("input", show);
    }
    show();
  }
})();

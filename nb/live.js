(function () {
  const box = document.getElementById("LIVE");
  const comm = globalThis.gonb_comm;
  if (!box || !comm) return;
  const inputs = [...box.querySelectorAll("input")], values = VALUES;
  comm.subscribe("/LIVE/frame", (address, page) => {
    box.querySelector("[data-frame]").innerHTML = page;
    box.querySelector("[data-state]").textContent = "";
  });
  comm.subscribe("/LIVE/end", (address, why) => {
    for (const input of inputs) input.disabled = true;
    box.querySelector("[data-state]").textContent = why;
  });
  inputs.forEach((input, i) => {
    input.disabled = false;
    input.addEventListener("input", () => {
      input.nextElementSibling.textContent = values[i][input.value];
      box.querySelector("[data-state]").textContent = "computing …";
      comm.send("/LIVE/at", inputs.map((each) => each.value).join(","));
    });
  });
})();

(function () {
  const box = document.getElementById("LIVE");
  const comm = globalThis.gonb_comm;
  if (!box || !comm) return;
  const inputs = [...box.querySelectorAll("input")], sliders = SLIDERS;
  const state = box.querySelector("[data-state]");
  let waits = false, rest = 0;
  const choice = () => inputs.map((each) => each.value).join(",");
  const tell = () => comm.send("/LIVE/at", (waits ? "?" : "") + choice());
  const sign = setInterval(() => box.isConnected ? tell() : clearInterval(sign), 5000);
  comm.subscribe("/LIVE/frame", (address, page) => {
    box.querySelector("[data-frame]").innerHTML = page;
    state.textContent = "";
    waits = false;
  });
  comm.subscribe("/LIVE/end", (address, why) => {
    clearInterval(sign);
    for (const input of inputs) input.disabled = true;
    state.textContent = why;
  });
  tell();
  inputs.forEach((input, i) => {
    input.disabled = false;
    input.addEventListener("input", () => {
      input.nextElementSibling.textContent = sliders[i].Values[input.value];
      state.textContent = "computing …";
      waits = true;
      clearTimeout(rest);
      rest = setTimeout(tell, 100); // once it rests: keys that are held down move it 30 times a second
    });
  });
})();

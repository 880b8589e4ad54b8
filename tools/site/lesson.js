const byId = (id) => document.getElementById(id);
const plot = { left: 56, right: 700, top: 16, bottom: 316, most: 4.5 };

// The slider of p_A and the axis go by the nines: 0 is ½, and each step of 1 makes 1−p ten times smaller.
const probability = (t) => 1 - 0.5 * 10 ** -t;

function read() {
  const s = { sigma: Number(byId("sigma").value), n: Math.round(10 ** Number(byId("n").value)), t: Number(byId("p").value), alpha: Number(byId("alpha").value) };
  return { ...s, p: probability(s.t) };
}

const certify = (s, p) => certspecRadius(Math.floor(p * s.n), s.n, s.alpha, s.sigma);

function show() {
  const s = read();
  const k = Math.floor(s.p * s.n);
  const digits = Math.max(3, Math.ceil(s.t) + 2);
  byId("sigma-is").textContent = s.sigma.toFixed(2);
  byId("n-is").textContent = s.n.toLocaleString("en");
  byId("p-is").textContent = s.p.toFixed(digits);
  const got = certify(s, s.p);
  const limit = s.p > 0.5 ? certspecLimit(s.p, s.sigma) : { radius: 0 };
  const cap = certspecRadius(s.n, s.n, s.alpha, s.sigma);
  const failed = got.error || limit.error || cap.error;
  if (failed) {
    byId("answer").textContent = failed;
    return;
  }
  const hits = `${k.toLocaleString("en")} of ${s.n.toLocaleString("en")} hits prove p ≥ ${got.lower.toFixed(6)}`;
  byId("answer").textContent = got.lower < 0.5
    ? `${hits}, which is below ½: the smoothed classifier abstains.`
    : `${hits}, and with it the radius ${got.radius.toFixed(4)}. With ever more samples it would be ${limit.radius.toFixed(4)}; ${s.n.toLocaleString("en")} samples never prove more than ${cap.radius.toFixed(4)}.`;
  draw(s, got, cap);
}

function draw(s, got, cap) {
  const highest = certspecLimit(probability(plot.most), s.sigma).radius;
  const x = (t) => plot.left + (t / plot.most) * (plot.right - plot.left);
  const y = (r) => plot.bottom - (r / highest) * (plot.bottom - plot.top);
  const chart = byId("chart");
  chart.querySelectorAll(":scope > :not(title)").forEach((e) => e.remove());
  const add = (tag, attributes, text) => {
    const e = chart.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text) e.textContent = text;
  };
  for (const [t, name] of [[0, "½"], [0.69897, ".9"], [1.69897, ".99"], [2.69897, ".999"], [3.69897, ".9999"]]) {
    add("line", { class: "grid", x1: x(t), x2: x(t), y1: plot.top, y2: plot.bottom });
    add("text", { x: x(t), y: plot.bottom + 20, "text-anchor": "middle" }, name);
  }
  for (let i = 0; i <= 4; i++) {
    const r = (i * highest) / 4;
    add("line", { class: "grid", x1: plot.left, x2: plot.right, y1: y(r), y2: y(r) });
    add("text", { x: plot.left - 8, y: y(r) + 4, "text-anchor": "end" }, r.toFixed(2));
  }
  add("text", { x: (plot.left + plot.right) / 2, y: plot.bottom + 40, "text-anchor": "middle" }, "probability of the top class");
  const curve = (name, radius) => {
    const points = [];
    for (let t = 0; t <= plot.most + 1e-9; t += 0.025) points.push(`${x(t).toFixed(1)},${y(radius(probability(t))).toFixed(1)}`);
    add("path", { class: name, d: "M" + points.join("L") });
  };
  curve("limit", (p) => (p > 0.5 ? certspecLimit(p, s.sigma).radius : 0));
  curve("curve", (p) => certify(s, p).radius);
  add("line", { class: "cap", x1: plot.left, x2: plot.right, y1: y(cap.radius), y2: y(cap.radius) });
  add("text", { x: plot.left + 8, y: y(cap.radius) - 6 }, "cap of n");
  add("text", { x: x(3.55), y: y(certspecLimit(probability(3.55), s.sigma).radius) - 10, "text-anchor": "end" }, "σ·Φ⁻¹(p), n without end");
  add("circle", { cx: x(s.t), cy: y(got.radius), r: 6 });
}

(async () => {
  try {
    const go = new Go();
    go.run(await WebAssembly.instantiate(await program, go.importObject));
    for (const id of ["sigma", "n", "p", "alpha"]) byId(id).addEventListener("input", show);
    show();
  } catch (e) {
    byId("answer").textContent = `This browser cannot compute here: ${e}`;
  }
})();

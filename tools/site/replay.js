const given = new Map(); // name to bytes
let stop = null;
const isNetwork = (name) => name.endsWith(".intnet");
const isLedger = (name) => new TextDecoder().decode(given.get(name).subarray(0, 40)).includes('"format":"certspec-ledger"');

async function unpacked(file) {
  if (!file.name.endsWith(".gz")) return [file.name, new Uint8Array(await file.arrayBuffer())];
  const plain = new Response(file.stream().pipeThrough(new DecompressionStream("gzip")));
  return [file.name.slice(0, -3), new Uint8Array(await plain.arrayBuffer())];
}

receive(async (list) => {
  for (const file of list) given.set(...await unpacked(file));
  byId("given").textContent = [...given.keys()].map((name) =>
    `${name}: ${isNetwork(name) ? "network" : isLedger(name) ? "ledger" : "data"}`).join(", ");
});

byId("start").addEventListener("click", async () => {
  const names = [...given.keys()];
  const ledger = names.find(isLedger), network = names.find(isNetwork);
  if (!ledger || !network) {
    report("", "bad", "Something is missing", "Expected a ledger and a network (.intnet).");
    return;
  }
  const worker = new Worker(support);
  byId("start").disabled = true;
  byId("stop").hidden = false;
  const answer = await new Promise((resolve) => {
    stop = () => resolve({ code: 3, out: "", errs: "Stopped: nothing was found out." });
    worker.onmessage = (e) => { if (e.data.doing) byId("doing").textContent = e.data.doing; else resolve(e.data); };
    worker.onerror = (e) => resolve({ code: 3, out: "", errs: e.message });
    const contents = names.map((name) => ({ name, bytes: given.get(name) }));
    Promise.all([program, kernel]).then(
      ([module, kernel]) => worker.postMessage({ module, kernel, argv: ["replay", ledger, network, byId("images").value], contents }),
      (e) => resolve({ code: 3, out: "", errs: `this browser cannot replay: ${e}` }),
    );
  });
  worker.terminate();
  byId("start").disabled = false;
  byId("stop").hidden = true;
  byId("doing").textContent = "";
  const verdicts = ["All blocks are equal", "Blocks differ"];
  report(ledger, answer.code === 0 ? "good" : "bad", verdicts[answer.code] || "The replay did not end", answer.out + answer.errs);
});
byId("stop").addEventListener("click", () => stop && stop());

let pace = 1000; // bytes a millisecond, as guessed for the first ledger and as measured then
let waiting = [];
let stop = null; // ends the check that runs

async function checkAll(files) {
  waiting.push(...files);
  if (stop) return;
  while (waiting.length > 0) await check(waiting.shift());
}

// check has a worker of its own check a file.
async function check(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const worker = new Worker(support);
  const began = performance.now();
  byId("running").hidden = false;
  const show = () => {
    const passed = performance.now() - began;
    const expected = Math.max(bytes.length / pace, 100);
    byId("progress").value = Math.min(passed / expected, 0.95);
    byId("doing").textContent = `Checking ${file.name}: ${text.split("\n", 1e7).length - 1} lines, ` +
      `${(passed / 1000).toFixed(1)} s of about ${(Math.max(expected, passed) / 1000).toFixed(1)} s, as its size lets expect`;
  };
  show();
  const clock = setInterval(show, 200);
  const answer = await new Promise((resolve) => {
    stop = () => resolve(null);
    worker.onmessage = (e) => resolve(e.data);
    worker.onerror = (e) => resolve({ code: 3, out: "", errs: e.message, ms: 0 });
    program.then(
      (module) => worker.postMessage({ module, argv: ["certcheck", file.name], contents: [{ name: file.name, bytes }] }),
      (e) => resolve({ code: 3, out: "", errs: `this browser cannot run the checker: ${e}`, ms: 0 }),
    );
  });
  clearInterval(clock);
  worker.terminate();
  stop = null;
  byId("running").hidden = true;
  if (!answer) {
    waiting = [];
    report(file.name, "", "Stopped", "Nothing was found out.", "");
    return;
  }
  if (answer.code === 0) pace = bytes.length / Math.max(answer.ms, 1);
  const time = ` (${(answer.ms / 1000).toFixed(1)} s)`;
  if (answer.code === 0) {
    report(file.name, "good", "All holds" + time, answer.out, "Every claim is proven", claims(text));
  } else if (answer.code === 1) {
    report(file.name, "bad", "This does not hold" + time, answer.errs, "The line", lineOf(file.name, answer.errs, text));
  } else {
    report(file.name, "bad", "The check did not end", answer.errs + answer.out, "");
  }
}

// claims is the end of a ledger: what it claims, image by image, and the figures that follow.
function claims(text) {
  const lines = text.split("\n");
  const from = lines.findIndex((l) => l.startsWith("claims "));
  return "image, class (−1: abstained), hits k, noise samples n, lower bound, radius\n" + lines.slice(from + 1, -2).map((l) => "✓ " + l).join("\n");
}

// lineOf is the line that certcheck names.
function lineOf(name, said, text) {
  const number = Number((said.slice(name.length).match(/^:(\d+):/) || [])[1]);
  const line = number ? text.split("\n", number)[number - 1] : undefined;
  return line === undefined ? "" : `${number}: ${line.slice(0, 2000)}`;
}

byId("stop").addEventListener("click", () => stop && stop());
receive(checkAll);

"use strict";
const inside = (id) => Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
// program is the compiled program inside this page, and kernel its vectors, where it has some.
const program = (async () => {
  const stream = new Blob([inside("program")]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
})();
const kernel = document.getElementById("kernel") && WebAssembly.compile(inside("kernel"));

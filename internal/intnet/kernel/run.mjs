// node run.mjs KERNEL PROGRAM ARGS: a Go program for js/wasm, with the kernels of integer networks on its memory
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import os from "node:os";
import path from "node:path";

const require = createRequire(import.meta.url);
Object.assign(globalThis, { require, fs: require("node:fs"), path });
const root = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim();
require(path.join(root, "lib", "wasm", "wasm_exec.js"));

const [kernel, program, ...args] = process.argv.slice(2);
const go = new Go();
go.argv = [program, ...args];
go.env = { TMPDIR: os.tmpdir(), ...process.env };
go.exit = process.exit;
const { instance } = await WebAssembly.instantiate(readFileSync(program), go.importObject);
const kernels = await WebAssembly.instantiate(readFileSync(kernel), { env: { memory: instance.exports.mem } });
globalThis.intnetKernels = kernels.instance.exports;
await go.run(instance);

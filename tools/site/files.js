"use strict";
// A file system in memory, to be read: files that are found by their names in any folder. It takes what the program
// writes to its two outputs, and nothing else.
const files = new Map();
const opened = new Map();
const written = { 1: "", 2: "" };
const decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
const find = (path) => files.get(path.split("/").pop());
const failure = (code) => Object.assign(new Error(code), { code });
const state = (data) => {
  const zero = { dev: 0, ino: 0, nlink: 1, uid: 0, gid: 0, rdev: 0, blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0 };
  const mode = data ? 0o100444 : 0o40755;
  return { ...zero, mode, size: data ? data.length : 0, blksize: 4096, isDirectory: () => !data };
};

globalThis.fs = {
  constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_TRUNC: 512, O_APPEND: 1024, O_EXCL: 128, O_DIRECTORY: 65536 },
  writeSync(fd, bytes) {
    written[fd] += decoders[fd].decode(bytes, { stream: true });
    return bytes.length;
  },
  write(fd, buffer, offset, length, position, done) {
    done(null, this.writeSync(fd, buffer.subarray(offset, offset + length)));
  },
  open(path, flags, mode, done) {
    const data = find(path);
    if (!data || flags & 3) return done(failure(data ? "EROFS" : "ENOENT"));
    let fd = 3;
    while (opened.has(fd)) fd++;
    opened.set(fd, { data, at: 0 });
    done(null, fd);
  },
  stat(path, done) {
    const data = find(path);
    if (data || path.startsWith("/cache")) done(null, state(data));
    else done(failure("ENOENT"));
  },
  fstat(fd, done) { done(null, state(opened.get(fd).data)); },
  read(fd, buffer, offset, length, position, done) {
    const file = opened.get(fd);
    const from = position === null ? file.at : Number(position);
    const part = file.data.subarray(from, from + length);
    buffer.set(part, offset);
    if (position === null) file.at += part.length;
    done(null, part.length);
  },
  close(fd, done) {
    opened.delete(fd);
    done(null);
  },
};
for (const name of ["lstat", "mkdir", "readdir", "readlink", "rename", "unlink", "fsync", "ftruncate", "chmod"]) {
  globalThis.fs[name] = (...args) => name === "lstat" ? globalThis.fs.stat(...args) : args.pop()(failure("EROFS"));
}

globalThis.onmessage = async ({ data: { module, kernel, argv, contents } }) => {
  for (const { name, bytes } of contents) files.set(name, bytes);
  const began = performance.now();
  const go = new Go();
  let code = 0;
  go.argv = argv;
  // one thread: up to the limit, memory is cheaper than collecting it
  go.env = { GOGC: "off", GOMEMLIMIT: "1GiB", CERTSPEC_DATA: "/data", CERTSPEC_CACHE: "/cache" };
  go.exit = (c) => { code = c; };
  try {
    const instance = await WebAssembly.instantiate(module, go.importObject);
    if (kernel) {
      const memory = instance.exports.mem;
      globalThis.intnetKernels = (await WebAssembly.instantiate(kernel, { env: { memory } })).exports;
    }
    await go.run(instance);
  } catch (e) {
    code = 3;
    written[2] += e;
  }
  postMessage({ code, out: written[1], errs: written[2], ms: performance.now() - began });
};

"use strict";
// One file in memory, to be read, and what the program writes: all the file system that certcheck needs.
const memory = { name: "", data: new Uint8Array(), at: 0, written: { 1: "", 2: "" }, decoders: { 1: new TextDecoder(), 2: new TextDecoder() } };

globalThis.fs = {
  constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_TRUNC: 512, O_APPEND: 1024, O_EXCL: 128, O_DIRECTORY: 65536 },
  writeSync(fd, bytes) {
    memory.written[fd] += memory.decoders[fd].decode(bytes, { stream: true });
    return bytes.length;
  },
  write(fd, buffer, offset, length, position, done) {
    done(null, this.writeSync(fd, buffer.subarray(offset, offset + length)));
  },
  open(path, flags, mode, done) {
    if (path !== memory.name || flags & 3) return done(Object.assign(new Error("no such file"), { code: "ENOENT" }));
    memory.at = 0;
    done(null, 3);
  },
  fstat(fd, done) {
    const zero = { dev: 0, ino: 0, nlink: 1, uid: 0, gid: 0, rdev: 0, blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0 };
    done(null, { ...zero, mode: 0o100444, size: memory.data.length, blksize: 4096, isDirectory: () => false });
  },
  read(fd, buffer, offset, length, position, done) {
    const from = position === null ? memory.at : Number(position);
    const part = memory.data.subarray(from, from + length);
    buffer.set(part, offset);
    if (position === null) memory.at += part.length;
    done(null, part.length);
  },
  close(fd, done) { done(null); },
};

globalThis.onmessage = async ({ data: { module, name, bytes } }) => {
  memory.name = name;
  memory.data = bytes;
  const began = performance.now();
  const go = new Go();
  let code = 0;
  go.argv = ["certcheck", name];
  go.env = { GOGC: "off", GOMEMLIMIT: "1GiB" }; // one thread: up to that, memory is cheaper than collecting it
  go.exit = (c) => { code = c; };
  try {
    await go.run(await WebAssembly.instantiate(module, go.importObject));
  } catch (e) {
    code = 3;
    memory.written[2] += e;
  }
  postMessage({ code, out: memory.written[1], errs: memory.written[2], ms: performance.now() - began });
};

'use strict';

// What a release's archive is called, which checksum it has, and the one file in it that is run.

const crypto = require('node:crypto');
const fs = require('node:fs');
const zlib = require('node:zlib');

/** Bytes that an archive may unpack to. */
const UNPACKED_LIMIT = 512 << 20;
const BLOCK = 512;

const SYSTEMS = { linux: 'unknown-linux-musl', darwin: 'apple-darwin', win32: 'pc-windows-msvc' };
const PROCESSORS = { x64: 'x86_64', arm64: 'aarch64' };

/** The target's triple; `undefined` where no release has one. */
function target(platform = process.platform, arch = process.arch) {
  const [processor, system] = [PROCESSORS[arch], SYSTEMS[platform]];
  return processor && system ? `${processor}-${system}` : undefined;
}

/** The SHA-256 that the table holds for the whole name. */
function expectedSha256(table, asset) {
  for (const line of table.split(/\r?\n/)) {
    const match = /^([0-9a-f]{64})  (\S+)$/.exec(line);
    if (match && match[2] === asset) return match[1];
  }
  return undefined;
}

function sha256(file) {
  return crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

/**
 * The contents of the file `name` at the root of a .tar.gz. Read here, because which `tar` an agent has, and what it takes for the
 * name of a host, is not known.
 */
function fileOf(archive, name) {
  const tar = zlib.gunzipSync(fs.readFileSync(archive), { maxOutputLength: UNPACKED_LIMIT });
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    const entry = text(header.subarray(0, 100));
    if (entry === '') break;
    const size = Number.parseInt(text(header.subarray(124, 136)).trim(), 8);
    if (!Number.isSafeInteger(size) || size < 0) throw new Error('the archive is damaged');
    const kind = header[156];
    const from = at + BLOCK;
    if (entry.replace(/^\.\//, '') === name && (kind === 0 || kind === 0x30)) {
      if (from + size > tar.length) throw new Error('the archive is cut off');
      return tar.subarray(from, from + size);
    }
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  throw new Error(`the archive holds no ${name}`);
}

function text(bytes) {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

module.exports = { expectedSha256, fileOf, sha256, target };

'use strict';

// The reader of archives, and the table of checksums.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const zlib = require('node:zlib');

const { expectedSha256, fileOf, target } = require(path.join(process.env.TEST_TASK_FOLDER, 'lib/archive.js'));

function entry(name, size, kind, bytes = Buffer.alloc(size, 'x')) {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${size.toString(8).padStart(11, '0')} `, 124);
  header.write(kind, 156);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

function archive(...entries) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'scoregate-tar-')), 'a.tar.gz');
  fs.writeFileSync(file, zlib.gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)])));
  return file;
}

test('the file at the root is read, whatever stands before it', () => {
  const file = archive(entry('README.md', 700, '0'), entry('man/scoregate', 3, '0'), entry('./scoregate', 5, '0', Buffer.from('12345')));
  assert.equal(String(fileOf(file, 'scoregate')), '12345');
});

test('links, cut files, strange sizes and files that are no archive are refused', () => {
  const link = archive(entry('scoregate', 0, '2'));
  assert.throws(() => fileOf(link, 'scoregate'), /holds no scoregate/);
  const cut = path.join(path.dirname(link), 'cut.tar.gz');
  fs.writeFileSync(cut, zlib.gzipSync(entry('scoregate', 5000, '0').subarray(0, 1000)));
  assert.throws(() => fileOf(cut, 'scoregate'), /cut off/);
  const strange = entry('scoregate', 5, '0');
  strange.write('-1', 124);
  strange.fill(0, 126, 136);
  assert.throws(() => fileOf(archive(strange), 'scoregate'), /damaged/);
  fs.writeFileSync(cut, 'no archive');
  assert.throws(() => fileOf(cut, 'scoregate'));
});

test('a checksum is found by the whole name', () => {
  const sum = 'ab'.repeat(32);
  const table = `# table\r\n${sum}  scoregate-0.1.0-x.tar.gz\r\n`;
  assert.equal(expectedSha256(table, 'scoregate-0.1.0-x.tar.gz'), sum);
  for (const name of ['scoregate-0.1.0-x', 'coregate-0.1.0-x.tar.gz', '']) assert.equal(expectedSha256(table, name), undefined);
});

test('every system of a release has its target', () => {
  const all = [['linux', 'x64'], ['linux', 'arm64'], ['darwin', 'x64'], ['darwin', 'arm64'], ['win32', 'x64']].map((one) => target(...one));
  assert.deepEqual(all, [
    'x86_64-unknown-linux-musl',
    'aarch64-unknown-linux-musl',
    'x86_64-apple-darwin',
    'aarch64-apple-darwin',
    'x86_64-pc-windows-msvc',
  ]);
  assert.equal(target('sunos', 'x64'), undefined);
});

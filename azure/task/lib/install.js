'use strict';

// The checked binary, fetched where it is not in the agent's tool cache. The archive is kept there and checked each time, since what
// else writes there is not known; the binary is unpacked for this job alone.

const fs = require('node:fs');
const path = require('node:path');

const tl = require('azure-pipelines-task-lib/task');
const tool = require('azure-pipelines-tool-lib/tool');

const { expectedSha256, fileOf, sha256, target } = require('./archive');
const { InputError } = require('./arguments');

const TOOL = 'scoregate-archive';

/** What was fetched is not what it should be, or could not be fetched: exit code 3 of the binary's contract. */
class InstallError extends Error {}

/** @returns {Promise<string>} the path of the binary */
async function install(version, releases) {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(version)) {
    throw new InputError(`the input \`version\` is no version like 0.1.0: ${version}`);
  }
  const triple = target();
  if (!triple) {
    throw new InputError(
      `there is no scoregate binary for ${process.platform} on ${process.arch}; build one and pass its path as \`binary\``,
    );
  }
  const asset = `scoregate-${version}-${triple}.tar.gz`;
  const table = fs.readFileSync(path.join(__dirname, '..', 'checksums.txt'), 'utf8');
  const expected = expectedSha256(table, asset);
  if (!expected) {
    throw new InputError(
      `this task holds no checksum for ${asset}, so it will not run it. Use a version that is in its checksums.txt, or build scoregate ` +
        'in the job and pass its path as `binary`',
    );
  }
  const archive = kept(version, asset, expected) ?? (await fetched(version, asset, expected, releases));
  return unpacked(archive, asset);
}

/** From the tool cache, if what is there is what it should be. */
function kept(version, asset, expected) {
  const folder = tool.findLocalTool(TOOL, version);
  const file = folder && path.join(folder, asset);
  return file && fs.existsSync(file) && sha256(file) === expected ? file : undefined;
}

async function fetched(version, asset, expected, releases) {
  const address = `${releases.replace(/\/+$/, '')}/v${version}/${asset}`;
  if (!/^https:\/\//.test(address)) throw new InputError('the input `releases` is no https address');
  const folder = fs.mkdtempSync(path.join(temporary(), 'scoregate-'));
  let file;
  try {
    file = await tool.downloadTool(address, path.join(folder, asset));
  } catch (error) {
    throw new InstallError(`could not download ${asset}: ${error.message}`);
  }
  const actual = sha256(file);
  if (actual !== expected) {
    fs.rmSync(file, { force: true });
    throw new InstallError(`${asset} is not what it should be: its SHA-256 is ${actual}, this task holds ${expected}. Nothing was run`);
  }
  try {
    return path.join(await tool.cacheFile(file, asset, TOOL, version), asset);
  } catch (error) {
    tl.debug(`the archive is not kept: ${error.message}`);
    return file;
  }
}

function unpacked(archive, asset) {
  const name = process.platform === 'win32' ? 'scoregate.exe' : 'scoregate';
  const file = path.join(fs.mkdtempSync(path.join(temporary(), 'scoregate-')), name);
  let bytes;
  try {
    bytes = fileOf(archive, name);
  } catch (error) {
    throw new InstallError(`${asset}: ${error.message}`);
  }
  fs.writeFileSync(file, bytes, { mode: 0o755 });
  return file;
}

/** Cleared by the agent after the job. */
function temporary() {
  return tl.getVariable('Agent.TempDirectory') || require('node:os').tmpdir();
}

module.exports = { InstallError, install };

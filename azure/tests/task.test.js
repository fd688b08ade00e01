'use strict';

// The whole task as an agent starts it, with a stand-in for the binary; `TEST_TASK_FOLDER` is the task with its modules.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { afterEach, beforeEach, test } = require('node:test');

const { MockTestRunner } = require('azure-pipelines-task-lib/mock-test');
const { commandFromString } = require('azure-pipelines-task-lib/taskcommand');

const TASK = process.env.TEST_TASK_FOLDER;
const { target } = require(path.join(TASK, 'lib/archive.js'));

/** Where the task is told to fetch from; what is there is served on loopback. */
const RELEASES = 'https://releases.test/download';

/** Says how it was called, with which token, and ends as it is told. */
const STAND_IN = `#!/bin/sh
printf '<%s>' "$@"
printf '\\ntoken=%s inputs=%s key=%s\\n' "\${SYSTEM_ACCESSTOKEN:-none}" "\${INPUT_SUITE:-none}" "\${OPENAI_API_KEY:-none}"
printf '##vso[task.setvariable variable=verdict;isoutput=true;]failed\\n'
echo "progress" >&2
exit "\${STAND_IN_CODE:-0}"
`;

let folder;
let server;
let loopback = 'http://127.0.0.1:9';
const VERSION = (({ Major, Minor, Patch }) => `${Major}.${Minor}.${Patch}`)(
  JSON.parse(fs.readFileSync(path.join(TASK, 'task.json'), 'utf8')).version,
);
const ASSET = `scoregate-${VERSION}-${target()}.tar.gz`;

const at = (...parts) => path.join(folder, ...parts);

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scoregate-azure-'));
  for (const name of ['temp', 'tools', 'work', 'served', 'packed']) fs.mkdirSync(at(name));
  // A task with a table of its own.
  fs.cpSync(TASK, at('task'), { recursive: true, filter: (from) => !from.includes('node_modules') });
  fs.symlinkSync(path.join(TASK, 'node_modules'), at('task/node_modules'));
  fs.writeFileSync(at('packed/scoregate'), STAND_IN, { mode: 0o755 });
  fs.writeFileSync(at('packed/README.md'), 'more\n');
  const packed = spawnSync('tar', ['-czf', at('served', ASSET), 'README.md', 'scoregate'], { cwd: at('packed') });
  assert.equal(packed.status, 0, String(packed.stderr));
  hold(at('served', ASSET));
});

afterEach(() => {
  server?.kill();
  server = undefined;
  fs.rmSync(folder, { recursive: true, force: true });
});

function hold(file) {
  const digest = crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  fs.writeFileSync(at('task/checksums.txt'), `# table\n${digest}  ${ASSET}\n`);
}

async function serving(...how) {
  server = spawn(process.execPath, [path.join(__dirname, 'serve.js'), at('served'), ...how]);
  const port = await new Promise((resolve) => server.stdout.once('data', (bytes) => resolve(String(bytes).trim())));
  loopback = `http://127.0.0.1:${port}/download`;
  return RELEASES;
}

const requests = () =>
  fs.existsSync(at('served/requests')) ? fs.readFileSync(at('served/requests'), 'utf8').trim().split('\n') : [];

/** Runs the task; what it printed, the commands in it, and whether it failed. */
async function task(inputs, more = {}) {
  const before = { ...process.env };
  Object.assign(process.env, {
    TEST_TASK: at('task/index.js'),
    TEST_INPUTS: JSON.stringify(inputs),
    AGENT_TEMPDIRECTORY: at('temp'),
    AGENT_TOOLSDIRECTORY: at('tools'),
    AGENT_VERSION: '4.260.0',
    BUILD_SOURCESDIRECTORY: at('work'),
    TEST_RELEASES: RELEASES,
    TEST_SERVER: loopback,
    ENDPOINT_AUTH_PARAMETER_SYSTEMVSSCONNECTION_ACCESSTOKEN: 'job-token-0123456789',
    ...more,
  });
  delete process.env.SYSTEM_ACCESSTOKEN;
  const runner = new MockTestRunner(path.join(__dirname, 'run-task.js'), at('task/task.json'));
  // The Node that is here, instead of one that the library would fetch.
  runner.nodePath = process.execPath;
  await runner.runAsync();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
  const lines = runner.stdout.split(/\r?\n/);
  const commands = lines.filter((line) => line.startsWith('##vso[')).map((line) => commandFromString(line));
  const last = commands.filter((command) => command.command === 'task.complete').pop();
  const variables = Object.fromEntries(
    commands.filter((one) => one.command === 'task.setvariable').map((one) => [one.properties.variable, one.message]),
  );
  return { lines, variables, failed: runner.failed, result: last?.properties.result, message: last?.message ?? '', all: runner.stdout };
}

const called = (run) => run.lines.find((line) => line.startsWith('<'));

test('it fetches the archive once, checks it each time, and runs what is in it', async () => {
  const releases = await serving();
  const first = await task({ suite: 'eval/scoregate.yaml', releases, comment: 'true' });
  assert.equal(first.failed, false, first.all);
  assert.equal(called(first), '<run><--><eval/scoregate.yaml>');
  assert.ok(first.lines.includes('##vso[task.setvariable variable=verdict;isoutput=true;]failed'), 'the binary speaks for itself');
  assert.deepEqual(requests(), [`/download/v${VERSION}/${ASSET}`]);
  assert.equal(fs.readFileSync(first.variables.binary, 'utf8'), STAND_IN);

  const second = await task({ suite: 'eval/scoregate.yaml', releases, comment: 'true' });
  assert.equal(second.failed, false, second.all);
  assert.equal(requests().length, 1, 'from the cache');
  assert.notEqual(second.variables.binary, first.variables.binary, 'unpacked for this job alone');

  // Somebody writes into the cache.
  const kept = fs.readdirSync(at('tools'), { recursive: true }).find((name) => String(name).endsWith(ASSET));
  fs.appendFileSync(at('tools', String(kept)), 'x');
  const third = await task({ suite: 'eval/scoregate.yaml', releases, comment: 'true' });
  assert.equal(third.failed, false, third.all);
  assert.equal(requests().length, 2, 'fetched again');
});

test('an archive with another checksum, one that is cut off, and none at all are not run', async () => {
  fs.appendFileSync(at('served', ASSET), 'x');
  const other = await task({ releases: await serving() });
  assert.match(other.message, /is not what it should be: its SHA-256 is .* Nothing was run/);
  server.kill();
  const cut = await task({ releases: await serving('truncate') });
  assert.match(cut.message, /could not download|is not what it should be/);
  fs.rmSync(at('served', ASSET));
  server.kill();
  const none = await task({ releases: await serving() });
  assert.match(none.message, /could not download/);
  for (const run of [other, cut, none]) {
    assert.equal(run.result, 'Failed');
    assert.equal(called(run), undefined, run.all);
    assert.deepEqual([run.variables.verdict, run.variables.passed, run.variables.exitCode], ['not_evaluated', 'false', '3']);
  }
});

test('what no checksum is held for is not run', async () => {
  const releases = await serving();
  for (const [inputs, words] of [
    [{ releases, version: '9.9.9' }, /holds no checksum for scoregate-9\.9\.9/],
    [{ releases, version: 'latest' }, /is no version like/],
    [{ releases: 'http://releases.test' }, /is no https address/],
    [{ releases: loopback }, /is no https address/],
    [{ binary: 'nowhere/scoregate' }, /is not a file: nowhere/],
    [{ releases, comment: 'maybe' }, /`comment` is neither true nor false/],
    [{ releases, command: 'publish' }, /`command` is none of run, merge, comment, check/],
    [{ releases, results: 'a' }, /`results` is for `merge` and `comment`/],
    [{ releases, command: 'comment' }, /`comment` needs the folder of one run/],
  ]) {
    const run = await task(inputs);
    assert.equal(run.result, 'Failed');
    assert.match(run.message, words);
    assert.equal(called(run), undefined);
    assert.deepEqual([run.variables.passed, run.variables.exitCode], ['false', '2']);
  }
  // Nothing in the environment changes that.
  const plain = await task({ releases: loopback }, { SCOREGATE_TEST_DOWNLOADS: '1' });
  assert.match(plain.message, /is no https address/);
  assert.deepEqual(requests(), []);
});

test('the exit code is the result', async () => {
  for (const [code, words] of [['1', 'the evidence says no'], ['2', 'inputs are wrong'], ['3', 'could not be evaluated'], ['143', 'cancelled']]) {
    const run = await task({ binary: at('packed/scoregate') }, { STAND_IN_CODE: code });
    assert.equal(run.result, 'Failed', run.all);
    assert.ok(run.message.includes(`scoregate ended with ${code}: `) && run.message.includes(words), run.message);
  }
  const gone = at('packed/not-runnable');
  fs.writeFileSync(gone, 'x', { mode: 0o644 });
  const run = await task({ binary: gone });
  assert.equal(run.result, 'Failed', 'what cannot be started is no pass');
});

test('the token reaches the binary only where it is needed, and inputs never do', async () => {
  const binary = at('packed/scoregate');
  const said = async (inputs) => (await task({ binary, ...inputs }, { OPENAI_API_KEY: 'sk-1' })).lines.find((line) => line.startsWith('token='));
  assert.equal(await said({}), 'token=job-token-0123456789 inputs=none key=sk-1');
  assert.equal(await said({ comment: 'false' }), 'token=none inputs=none key=sk-1');
  assert.equal(await said({ comment: 'false', status: 'true' }), 'token=job-token-0123456789 inputs=none key=sk-1');
  assert.equal(await said({ command: 'merge', results: 'a' }), 'token=job-token-0123456789 inputs=none key=sk-1');
  assert.equal(await said({ command: 'merge', results: 'a', comment: 'false' }), 'token=none inputs=none key=sk-1');
  assert.equal(await said({ command: 'comment', results: 'a', comment: 'false' }), 'token=job-token-0123456789 inputs=none key=sk-1');
  assert.equal(await said({ command: 'check' }), 'token=none inputs=none key=sk-1');
  assert.equal(await said({ command: 'check', status: 'true' }), 'token=none inputs=none key=sk-1');
});

test('every input becomes an argument', async () => {
  const binary = at('packed/scoregate');
  fs.mkdirSync(at('work/shards/1'), { recursive: true });
  fs.mkdirSync(at('work/shards/2'), { recursive: true });
  const all = {
    binary,
    baseline: 'b.jsonl',
    base: 'main',
    out: 'out dir',
    shard: '2/8',
    ledger: 'off',
    record: 'c.jsonl',
    replay: 'r.jsonl',
    events: 'e.jsonl',
    status: 'true',
    acceptPolicyChanges: 'true',
    comment: 'false',
    arguments: '--tag=critical\n\n  \n--sample=50',
    suite: '-suite with; "signs".yaml',
  };
  const run = await task(all);
  assert.equal(
    called(run),
    '<run><--baseline=b.jsonl><--base=main><--out=out dir><--shard=2/8><--ledger=off><--record=c.jsonl><--replay=r.jsonl><--events=e.jsonl>' +
      '<--check=status><--accept-policy-changes><--tag=critical><--sample=50><--no-comment><--><-suite with; "signs".yaml>',
  );
  const merge = await task({ binary, command: 'merge', results: 'shards/*\ngone/results.jsonl' });
  assert.equal(
    called(merge),
    `<merge><--suite=scoregate.yaml><--><${at('work/shards/1')}><${at('work/shards/2')}><gone/results.jsonl>`,
  );
  const comment = await task({ binary, command: 'comment', results: 'reports', suiteName: 'support' });
  assert.equal(called(comment), '<comment><--suite-name=support><--><reports>');
  const check = await task({ binary, command: 'check' });
  assert.equal(called(check), '<check><--><scoregate.yaml>');
});

test('every input of task.json is read, and no other', () => {
  const { inputs } = JSON.parse(fs.readFileSync(path.join(TASK, 'task.json'), 'utf8'));
  const source = ['index.js', 'lib/arguments.js', 'lib/install.js'].map((name) => fs.readFileSync(path.join(TASK, name), 'utf8')).join('\n');
  for (const { name } of inputs) assert.ok(source.includes(`'${name}'`), `nobody reads ${name}`);
  const read = [...source.matchAll(/(?:text|flag|filePath)\('([A-Za-z]+)'/g)].map((match) => match[1]);
  const known = inputs.map(({ name }) => name);
  assert.deepEqual(read.filter((name) => !known.includes(name)), []);
});

test('the real binary makes the agent publish its results', { skip: !process.env.SCOREGATE_TEST_BINARY }, async () => {
  const suite = path.join(process.env.TEST_ROOT, 'fixtures/quickstart/scoregate.yaml');
  const inputs = { binary: process.env.SCOREGATE_TEST_BINARY, suite, comment: 'false' };
  const run = await task(inputs, { TF_BUILD: 'True', BUILD_REASON: 'Manual' });
  const commands = run.lines.filter((line) => line.startsWith('##vso[')).map((line) => commandFromString(line));
  const of = (name) => commands.filter((command) => command.command === name);
  const published = of('results.publish')[0]?.properties;
  assert.equal(published?.type, 'JUnit', run.all);
  assert.ok(fs.existsSync(published.resultFiles) && fs.existsSync(of('task.uploadsummary')[0].message));
  assert.equal(run.variables.exitCode, run.failed ? '1' : '0');
});

'use strict';

// The task: find the binary, check it, run it. The binary itself writes issues, outputs, test results, the summary page, the thread on the
// pull request and the status, just as in a plain `script:` step; its streams are the task's own, so the agent reads them as they are.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const tl = require('azure-pipelines-task-lib/task');

const { InputError, argumentsOf } = require('./lib/arguments');
const { install } = require('./lib/install');

/** The version that this task runs unless told otherwise: its own. */
function ownVersion() {
  const { Major, Minor, Patch } = JSON.parse(fs.readFileSync(path.join(__dirname, 'task.json'), 'utf8')).version;
  return `${Major}.${Minor}.${Patch}`;
}

function text(name) {
  return (tl.getInput(name, false) ?? '').trim();
}

/** A path input that was not filled in is the sources' folder. */
function filePath(name) {
  const value = text(name);
  return value && tl.filePathSupplied(name) ? value : '';
}

function flag(name, otherwise) {
  const value = text(name).toLowerCase();
  if (value === '') return otherwise;
  if (value !== 'true' && value !== 'false') throw new InputError(`the input \`${name}\` is neither true nor false`);
  return value === 'true';
}

const FLAGS = { comment: true, status: false, acceptPolicyChanges: false };

async function binaryOf() {
  const given = text('binary');
  if (!given) return install(text('version').replace(/^v/, '') || ownVersion(), text('releases'));
  const file = path.resolve(given);
  if (!fs.existsSync(file) || !fs.statSync(file).isFile()) {
    throw new InputError(`the input \`binary\` is not a file: ${given}`);
  }
  return file;
}

/** Whether a command talks to Azure DevOps as the job: for the thread on the pull request, or the status. */
function talks(command) {
  if (command === 'comment') return true;
  return (command === 'run' || command === 'merge') && (flag('comment', FLAGS.comment) || flag('status', FLAGS.status));
}

/** The job's token reaches the binary only where it is needed. */
function environment(wantsToken) {
  const env = { ...process.env };
  const token = tl.getEndpointAuthorizationParameter('SystemVssConnection', 'AccessToken', true);
  if (wantsToken && token) env.SYSTEM_ACCESSTOKEN = token;
  // Inputs are for the task; what the binary needs of them are its arguments.
  for (const name of Object.keys(env)) if (name.startsWith('INPUT_')) delete env[name];
  return env;
}

/** @returns {Promise<number>} the exit code */
function run(binary, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ['ignore', 'inherit', 'inherit'], windowsHide: true, ...options });
    // Whoever cancels the job waits for the binary's end, which writes what it has.
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? 128 + (os.constants.signals[signal] ?? 0)));
  });
}

const MEANING = {
  1: 'the evidence says no',
  2: 'the suite or the inputs are wrong',
  3: 'it could not be evaluated',
  130: 'it was cancelled',
  143: 'it was cancelled',
};

async function main() {
  tl.setResourcePath(path.join(__dirname, 'task.json'));
  try {
    const args = argumentsOf({
      text,
      flag: (name) => flag(name, FLAGS[name]),
      find: (pattern) => tl.findMatch(folder(), pattern),
    });
    const binary = await binaryOf();
    tl.setVariable('binary', binary, false, true);
    const code = await run(binary, args, { cwd: folder(), env: environment(talks(args[0])) });
    if (code === 0) tl.setResult(tl.TaskResult.Succeeded, '');
    else tl.setResult(tl.TaskResult.Failed, `scoregate ended with ${code}: ${MEANING[code] ?? 'see the log'}`);
  } catch (error) {
    const code = error instanceof InputError ? 2 : 3;
    for (const [name, value] of [['verdict', 'not_evaluated'], ['passed', 'false'], ['exitCode', `${code}`], ['regressions', '0']]) {
      tl.setVariable(name, value, false, true);
    }
    tl.setResult(tl.TaskResult.Failed, `scoregate: ${error.message}`);
  }
}

function folder() {
  return filePath('workingDirectory') || tl.getVariable('Build.SourcesDirectory') || process.cwd();
}

main();

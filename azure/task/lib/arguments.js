'use strict';

// The task's inputs as the arguments of one command; what a command does not know, it refuses by name.

/** A problem of the inputs: exit code 2 of the binary's contract. */
class InputError extends Error {}

const COMMANDS = ['run', 'merge', 'comment', 'check'];

/** Inputs that are options with a value, wherever they are given. */
const OPTIONS = [
  ['baseline', '--baseline'],
  ['base', '--base'],
  ['out', '--out'],
  ['suiteName', '--suite-name'],
  ['shard', '--shard'],
  ['ledger', '--ledger'],
  ['record', '--record'],
  ['replay', '--replay'],
  ['events', '--events'],
];

/** The lines that are not blank. */
function lines(text) {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}

/**
 * @param {{ text: (name: string) => string, flag: (name: string) => boolean, find: (pattern: string) => string[] }} inputs
 *   `find` gives the paths that a pattern stands for.
 * @returns {string[]}
 */
function argumentsOf(inputs) {
  const command = inputs.text('command') || 'run';
  if (!COMMANDS.includes(command)) {
    throw new InputError(`the input \`command\` is none of ${COMMANDS.join(', ')}: ${command}`);
  }
  const all = [command];
  for (const [name, flag] of OPTIONS) {
    const value = inputs.text(name);
    if (value) all.push(`${flag}=${value}`);
  }
  if (inputs.flag('status')) all.push('--check=status');
  if (inputs.flag('acceptPolicyChanges')) all.push('--accept-policy-changes');
  all.push(...lines(inputs.text('arguments')));
  const suite = inputs.text('suite') || 'scoregate.yaml';
  const results = lines(inputs.text('results'));
  if ((command === 'run' || command === 'merge') && !inputs.flag('comment')) all.push('--no-comment');
  switch (command) {
    case 'merge': {
      // A pattern stands for what it finds; what finds nothing goes on as it is, and is missed by name.
      const found = results.flatMap((pattern) => {
        const paths = inputs.find(pattern);
        return paths.length > 0 ? paths : [pattern];
      });
      return [...all, `--suite=${suite}`, '--', ...found];
    }
    case 'comment':
      if (results.length !== 1) {
        throw new InputError('`comment` needs the folder of one run\'s reports as `results`');
      }
      return [...all, '--', results[0]];
    default:
      if (results.length > 0) throw new InputError('the input `results` is for `merge` and `comment`');
      return [...all, '--', suite];
  }
}

module.exports = { InputError, argumentsOf, lines };

'use strict';

// One run of the task, by the task library's mock runner; everything it needs is in the environment.

const { TaskMockRunner } = require('azure-pipelines-task-lib/mock-run');

const runner = new TaskMockRunner(process.env.TEST_TASK);
for (const [name, value] of Object.entries(JSON.parse(process.env.TEST_INPUTS))) runner.setInput(name, value);
// The task fetches from https addresses alone; the releases of the tests are on loopback. Everything else of the library is the real one:
// what it prints is what an agent reads. It takes the inputs from the environment when it is loaded, so not before here.
const tool = require('azure-pipelines-tool-lib/tool');
const { TEST_RELEASES = '', TEST_SERVER = '' } = process.env;
const downloadTool = (address, ...more) =>
  tool.downloadTool(address.startsWith(`${TEST_RELEASES}/`) ? TEST_SERVER + address.slice(TEST_RELEASES.length) : address, ...more);
runner.registerMock('azure-pipelines-tool-lib/tool', { ...tool, downloadTool });
runner.run(true);

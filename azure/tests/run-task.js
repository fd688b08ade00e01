'use strict';

// One run of the task, by the task library's mock runner; everything it needs is in the environment.

const { TaskMockRunner } = require('azure-pipelines-task-lib/mock-run');

const runner = new TaskMockRunner(process.env.TEST_TASK);
for (const [name, value] of Object.entries(JSON.parse(process.env.TEST_INPUTS))) runner.setInput(name, value);
// The library itself is the real one: what it prints is what an agent reads.
runner.run(true);

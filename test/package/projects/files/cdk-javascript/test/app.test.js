const { App } = require('aws-cdk-lib/core');
const { Template } = require('aws-cdk-lib/assertions');
const { createClient } = require('pushpop/client');
const { createQueues } = require('pushpop/engine');
const { AppStack } = require('../lib/app-stack');

test('the stack has a table', () => {
  Template.fromStack(new AppStack(new App(), 'Shop')).resourceCountIs('AWS::DynamoDB::Table', 1);
});

test('the engine can be loaded', () => {
  expect(typeof createQueues).toBe('function');
});

test('the client pushes and pops', async () => {
  const queue = createClient({ url: process.env.PUSHPOP_ENDPOINT }).queue('jest-js');
  await queue.push(17);
  const { items } = await queue.pop();
  expect(items.map((item) => item.value)).toEqual([17]);
});

import * as cdk from 'aws-cdk-lib/core';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { createClient } from 'pushpop/client';
import { AppStack } from '../lib/app-stack';
import { handler, ship } from '../src/ship';

test('the stack has the queues and their consumer', () => {
  const template = Template.fromStack(new AppStack(new cdk.App(), 'Shop'));
  template.hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: { PUSHPOP_CONSUMER_NAME: Match.stringLikeRegexp('Ship') } },
  });
});

test('the handler can be loaded', () => {
  expect(typeof handler).toBe('function');
  expect(ship(17)).toBe('ships 17');
});

test('the client pushes and pops', async () => {
  const queue = createClient({ url: process.env.PUSHPOP_ENDPOINT as string }).queue<number>('jest');
  await queue.push(17);
  const { items } = await queue.pop();
  expect(items.map((item) => item.value)).toEqual([17]);
});

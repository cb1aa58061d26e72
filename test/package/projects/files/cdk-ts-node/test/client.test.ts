import { createClient, Item } from 'pushpop/client';
import { consumer } from 'pushpop/consumer';
import { createQueues } from 'pushpop/engine';
import { createRateLimits } from 'pushpop/rate-limits';

test('the entries can be loaded', () => {
  for (const made of [consumer, createQueues, createRateLimits]) expect(typeof made).toBe('function');
});

test('the client pushes and pops', async () => {
  const queue = createClient({ url: process.env.PUSHPOP_ENDPOINT ?? '' }).queue<number>('ts-jest');
  await queue.push(17);
  const { items } = await queue.pop();
  expect(items.map((item: Item<number>) => item.value)).toEqual([17]);
});

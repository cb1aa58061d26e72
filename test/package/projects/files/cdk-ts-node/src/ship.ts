import { consumer } from 'pushpop/consumer';

export const handler = consumer<{ order: number }>(async (items) => {
  for (const item of items) console.log(`ships ${item.value.order}`);
});

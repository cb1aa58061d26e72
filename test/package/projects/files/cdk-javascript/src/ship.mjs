import { consumer } from 'pushpop/consumer';

export const handler = consumer((items) => {
  for (const item of items) console.log(`ships ${item.value.order}`);
});

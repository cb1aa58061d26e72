import { consumer } from 'pushpop/consumer';

export const ship = (order: number): string => `ships ${order}`;

export const handler = consumer<{ order: number }>((items) => {
  for (const item of items) console.log(ship(item.value.order));
});

import 'reflect-metadata';
import { Body, Controller, Inject, Injectable, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Client, createClient } from 'pushpop/client';
import { QueueError } from 'pushpop/engine';

const CLIENT = 'pushpop';

@Injectable()
class Orders {
  constructor(@Inject(CLIENT) private readonly client: Client) {}

  async place(order: number): Promise<number[]> {
    const queue = this.client.queue<number>('nest');
    await queue.push(order);
    const { items } = await queue.pop();
    return items.map(({ value }) => value);
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Post()
  place(@Body() { order }: { order: number }): Promise<number[]> {
    return this.orders.place(order);
  }
}

@Module({
  controllers: [OrdersController],
  providers: [
    Orders,
    { provide: CLIENT, useFactory: () => createClient({ url: process.env.PUSHPOP_ENDPOINT ?? '' }) },
  ],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  const answer = await fetch(`${await app.getUrl()}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"order":17}',
  });
  const text = await answer.text();
  await app.close();
  if (text !== '[17]' || typeof QueueError !== 'function') throw new Error(text);
}
void main();

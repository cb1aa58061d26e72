import { App, Stack } from 'aws-cdk-lib'
import { PushPop } from 'pushpop'
import { createClient } from 'pushpop/client'
import { consumer } from 'pushpop/consumer'
import { createQueues } from 'pushpop/engine'
import { createRateLimits } from 'pushpop/rate-limits'

export const app = new App()
new PushPop(new Stack(app, 'Shop'), 'Queues')
app.synth()
for (const made of [consumer, createQueues, createRateLimits]) {
  if (typeof made !== 'function') throw new Error('it is not there')
}

export async function work(url: string): Promise<number[]> {
  const queue = createClient({ url }).queue<number>('esm')
  await queue.push(17)
  const { items } = await queue.pop()
  return items.map((item) => item.value)
}

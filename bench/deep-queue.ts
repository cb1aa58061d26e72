// A queue of a million items, made once a run: depth, record size and memory are measured on it.

import type { Bench } from './bench.ts'
import { fill } from './fixture.ts'
import { createItems } from './items.ts'

const made = new WeakMap<Bench, Promise<string>>()

export const deepItems = (bench: Bench): number => bench.count(1_000_000)

export function deepQueue(bench: Bench): Promise<string> {
  const queue = made.get(bench) ?? make(bench)
  made.set(bench, queue)
  return queue
}

async function make(bench: Bench): Promise<string> {
  const queue = bench.queueName('deep')
  await fill(bench, queue, { items: deepItems(bench), perPush: 1000, item: createItems(6) })
  return queue
}

import type { World } from './world.ts'

/** An event on its way from the table to whom it is for: late, twice or never. */
export function sendEvent(world: World, arrive: (afterMs: number) => void): void {
  const { odds, random, statistics } = world
  if (random.chance(odds['event-missed'])) {
    statistics.count('fault event-missed')
    return
  }
  arrive(delayMs(world))
  if (!random.chance(odds['event-repeated'])) return
  statistics.count('fault event-repeated')
  arrive(delayMs(world))
}

function delayMs({ odds, random, statistics }: World): number {
  if (!random.chance(odds['event-late'])) return random.between(1, 200)
  statistics.count('fault event-late')
  return random.pick([2_000, 60_000, 600_000])
}

import type { World } from '../harness/world.ts'

/** A turn of a second with the handler that ends it, for each of the two others, and a look. */
const TURN_MS_MAX = 2 * (1_000 + 1_000) + 1_000

/** While others wait a queue gives up its place: `called` has the times of its handler's calls. */
export function checkTurns(
  world: World,
  called: ReadonlyMap<string, readonly number[]>,
  sinceMs: number,
): void {
  if (called.size < 3) world.violated('everybody has a turn', `${called.size} queues of 3 had one`)
  for (const [queue, times] of called) {
    const waits = times.map((ms, index) => ms - (times[index - 1] ?? sinceMs))
    const longest = Math.max(...waits)
    if (longest > TURN_MS_MAX + 100 * world.latencyMaxMs) {
      world.violated('everybody has a turn', `${queue} waited ${longest} ms`)
    }
  }
}

/** With nothing to do a process looks every five seconds, as it was asked to: here with two of grace. */
export function checkIdle(world: World, looks: number, ms: number): void {
  if (looks <= ms / 5_000 + 2) return
  world.violated('who has nothing to do hardly asks', `${looks} looks in ${ms} ms`)
}

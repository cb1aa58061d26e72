import { setTimeout as delay } from 'node:timers/promises'

const DAY_MS = 86_400_000

/**
 * A window of a day ends at midnight, UTC. A test that counts on one window calls this first: it waits for the next day
 * if this one is nearly over.
 */
export async function clearOfMidnight(neededMs = 15_000): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < neededMs) await delay(leftMs)
}

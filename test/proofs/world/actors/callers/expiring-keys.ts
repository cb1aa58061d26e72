import type { Built } from '../../harness/build-world.ts'
import type { Driver } from '../../harness/driver.ts'
import type { Knowledge } from './knowledge.ts'

/** In some worlds the time of keys is over between two eras, and then the same keys come with other items. */
export const keysExpire = (seed: number): boolean => seed % 4 === 1

/** No era lasts as long, however often its processes freeze: the keys of one era are over between eras alone. */
export const KEY_SECONDS = 8 * 60 * 60
/** Their time, the hour by which clocks may differ, and the minutes that a request may be late. */
const REST_MS = (KEY_SECONDS + 90 * 60) * 1_000

/** Some of their notes are receipts by then, and others are still in the record. */
export async function letKeysExpire(
  { world, model, housekeeper }: Built,
  driver: Driver,
  knowledge: Knowledge,
): Promise<void> {
  if (!keysExpire(world.seed)) return
  await driver.advance(REST_MS)
  if (world.seed % 8 === 1) housekeeper?.sweep()
  world.history.add('', () => 'the time of all keys is over')
  world.statistics.count('path keys expired')
  knowledge.forgetPushKeys()
  model.ledger.keyLife += 1
}

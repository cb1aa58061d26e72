import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'

/**
 * Others see a transaction item by item, and its sender has no answer before they see all of it. So what it wrote may
 * be there already or not, for a call that ran meanwhile.
 */
export const maySeeOld = ({ world }: Model, { startedMs }: Operation): boolean =>
  world.store.settledAtMs > startedMs

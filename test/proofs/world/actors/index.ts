import type { Actor } from '../harness/actor.ts'

/** All that may take part in a world beside the callers. */
export const actors: readonly Actor[] = []

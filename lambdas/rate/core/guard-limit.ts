import type { Settings } from './settings.ts'

/** How many calls of one kind a queue takes: what a limit is without a line, shards and overrides. */
export type GuardLimit = Pick<Settings, 'maxRequests' | 'windowMillis' | 'algorithm' | 'burst'>

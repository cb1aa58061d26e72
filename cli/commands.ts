import type { Command } from './command.ts'

/** All commands, in the order that help lists them; each is loaded when it is asked for. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  push: async () => erased((await import('./commands/push.ts')).push),
  pop: async () => erased((await import('./commands/pop.ts')).pop),
  ack: async () => erased((await import('./commands/ack.ts')).ack),
  release: async () => erased((await import('./commands/release.ts')).release),
  peek: async () => erased((await import('./commands/peek.ts')).peek),
  scheduled: async () => erased((await import('./commands/scheduled.ts')).scheduled),
  stats: async () => erased((await import('./commands/stats.ts')).stats),
  drain: async () => erased((await import('./commands/drain.ts')).drain),
  export: async () => erased((await import('./commands/export.ts')).exportItems),
  import: async () => erased((await import('./commands/import.ts')).importItems),
  config: async () => erased((await import('./commands/config.ts')).config),
  cancel: async () => erased((await import('./commands/cancel.ts')).cancel),
  move: async () => erased((await import('./commands/move.ts')).move),
  redrive: async () => erased((await import('./commands/redrive.ts')).redrive),
  purge: async () => erased((await import('./commands/purge.ts')).purge),
  schedules: async () => erased((await import('./commands/schedules.ts')).schedules),
  'queue-config': async () => erased((await import('./commands/queue-config.ts')).queueConfig),
  rate: async () => erased((await import('./commands/rate.ts')).rate),
  'rate-state': async () => erased((await import('./commands/rate-state.ts')).rateState),
  'rate-config': async () => erased((await import('./commands/rate-config.ts')).rateConfig),
  'rate-patterns': async () => erased((await import('./commands/rate-patterns.ts')).ratePatterns),
  'rate-ticket': async () => erased((await import('./commands/rate-ticket.ts')).rateTicket),
  'rate-secret': async () => erased((await import('./commands/rate-secret.ts')).rateSecret),
  doctor: async () => erased((await import('./commands/doctor.ts')).doctor),
  verify: async () => erased((await import('./commands/verify.ts')).verify),
}

/** A command only ever gets options that were read by its own table. */
const erased = (it: unknown): Command => it as Command

// What calls about settings and schedules answer, and what `If-Match` demands of them. The command line gives the same
// answers.

import {
  type Configuration,
  configurationNames,
  type QueueSettings,
  tagOf,
} from '../../engine/core/settings.ts'
import type { QueuePatterns, Schedule } from '../../engine/queues.ts'
import { present, snakeCase, snakeCased } from '../../shared/wire.ts'
import { type Answer, ok, RequestError, seconds } from './answer.ts'

/** Every setting, `null` if not set: a PUT accepts what a GET returned. */
const settingsBody = (settings: QueueSettings) =>
  Object.fromEntries(
    configurationNames.map((name) => [snakeCase(name), snakeCased(settings[name] ?? null)]),
  )

export const configurationBody = (configuration: Configuration) => ({
  ...settingsBody(configuration),
  source: configuration.source,
})

export const queuePatternsBody = ({ patterns }: QueuePatterns) => ({
  patterns: patterns.map(({ prefix, settings }) => ({ prefix, ...settingsBody(settings) })),
})

export const queuePatternsAnswer = (patterns: QueuePatterns): Answer =>
  ok(queuePatternsBody(patterns), { etag: `"${patterns.revision}"` })

export const configurationAnswer = (configuration: Configuration): Answer =>
  ok(configurationBody(configuration), { etag: `"${tagOf(configuration)}"` })

const etagOf = ({ tag }: Schedule): string => `"${tag}"`

const secondsIf = (ms: number | undefined): unknown => (ms === undefined ? undefined : seconds(ms))

function waitingFor({ retryAtMs, refused }: Schedule): 'queue_full' | 'refused' | undefined {
  if (retryAtMs === undefined) return undefined
  return refused === undefined ? 'queue_full' : 'refused'
}

export const scheduleBody = (schedule: Schedule) => {
  const { timing, paused, nextMs } = schedule
  return present({
    name: schedule.name,
    ...('cron' in timing
      ? { cron: timing.cron, time_zone: timing.timeZone }
      : { every_seconds: timing.everySeconds }),
    priority: schedule.priority,
    starts_at: secondsIf(schedule.startsAtMs),
    ends_at: secondsIf(schedule.endsAtMs),
    missed: schedule.missed,
    paused,
    next_at: paused ? undefined : secondsIf(nextMs),
    last_at: secondsIf(schedule.lastMs),
    waiting: waitingFor(schedule),
    deployed: schedule.deployed,
    refused: schedule.refused,
    etag: etagOf(schedule),
  })
}

/** Includes its item as text: parsing and printing could change it. */
export const scheduleAnswer = (schedule: Schedule & { readonly text: string }): Answer => {
  const body = JSON.stringify(scheduleBody(schedule))
  return ok(`${body.slice(0, -1)},"item":${schedule.text}}`, { etag: etagOf(schedule) })
}

export const changedAnswer = (schedule: Schedule): Answer =>
  ok(scheduleBody(schedule), { etag: etagOf(schedule) })

/** The revision that a configuration must have for `If-Match` to hold; `undefined` for any. */
export async function revisionFor(
  header: string | undefined,
  currentRevision: () => Promise<number>,
): Promise<number | undefined> {
  const current = async () => String(await currentRevision())
  const tag = await tagFor(header, current)
  if (tag === undefined) return undefined
  if (!revisionForm.test(tag)) throw noMatch(await current())
  return Number(tag)
}

/**
 * The required tag, without its quotes. We compare tags strongly (RFC 9110): a weak one matches nothing.
 */
export async function tagFor(
  header: string | undefined,
  currentTag: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (header === undefined || isAny(header)) return undefined
  const tags = header.split(',').map((tag) => tag.trim())
  if (!tags.every((tag) => tagForm.test(tag))) {
    throw new RequestError(
      'INVALID_PARAMETER',
      'If-Match must be an ETag as an answer gave it, in its quotes, or *',
      { field: 'If-Match' },
    )
  }
  const strong = tags.filter((tag) => !tag.startsWith('W/')).map((tag) => tag.slice(1, -1))
  // `"*"` is a tag that nothing has; without its quotes it would mean any.
  if (tags.length === 1 && strong.length === 1 && strong[0] !== '*') return strong[0]
  // One of several may match. If the current tag changes after this look, none does.
  const current = await currentTag()
  if (current !== undefined && strong.includes(current)) return current
  throw noMatch(current)
}

/** Whether the header only requires that something exists. */
export const isAny = (header: string): boolean => header.trim() === '*'

const noMatch = (current: string | undefined): RequestError =>
  new RequestError(
    'VERSION_MISMATCH',
    current === undefined
      ? 'Nothing was changed because If-Match names an ETag, and there is nothing here yet'
      : `Nothing was changed because If-Match does not name the ETag, which is "${current}"`,
    { field: 'If-Match' },
  )

const tagForm = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const revisionForm = /^(0|[1-9]\d{0,14})$/

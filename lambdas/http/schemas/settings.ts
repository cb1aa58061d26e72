// Settings in requests and answers: a rate limit's and a queue's, each made from its one table.

import * as v from 'valibot'
import {
  type ConfigurationName,
  configurationFields,
  configurationNames,
} from '../../../engine/core/settings.ts'
import {
  guardNames,
  type SettingField,
  type SettingName,
  settingFields,
  settingNames,
} from '../../../rate/core/settings.ts'
import { type SnakeCase, snakeCase } from '../../../shared/wire.ts'
import { choice, count, described, flag, integer, object, optional } from './fields.ts'

const docs: Readonly<Record<SettingName, string>> = {
  maxRequests: 'Requests that may go in one window.',
  maxRequestsInQueue: 'Requests that may wait for later windows.',
  windowMillis: 'How long a window is.',
  algorithm: '`smooth`: no double burst at a window’s edge.',
  burst: 'With `smooth`: requests that may go at once after a rest.',
  shards:
    'Parts of a busy key, each with its own order and its share of the limit; always 1 for a prefix.',
  allowOverrides: 'Whether a call may bring its own limit.',
}

const entriesOf = <Name extends SettingName, Schema>(
  names: readonly Name[],
  schemaOf: (name: Name) => Schema,
) =>
  Object.fromEntries(names.map((name) => [snakeCase(name), schemaOf(name)])) as {
    readonly [N in Name as SnakeCase<N>]: Schema
  }

const checkOf = (field: SettingField): v.GenericSchema => {
  switch (field.kind) {
    case 'integer':
      return integer(field.min, field.max)
    case 'flag':
      return flag()
    case 'choice':
      return choice(field.of)
    default:
      return field satisfies never
  }
}

/** A queue's limit must have this setting. */
const maxRequests = () => checkOf(settingFields.maxRequests)

/** `100`, `1,000`, `` `window` ``, `false`. */
const shown = ({ kind, standard }: SettingField): string =>
  kind === 'choice' ? `\`${standard}\`` : String(standard).replace(/\B(?=(\d{3})+$)/g, ',')

export const defaultSentence = (name: SettingName): string =>
  `Default ${shown(settingFields[name])}.`

const requested = (name: SettingName) =>
  optional(checkOf(settingFields[name]), `${docs[name]} ${defaultSentence(name)}`)

const answered = (name: SettingName) => {
  const field: SettingField = settingFields[name]
  if (field.kind === 'integer') return count(docs[name])
  const schema = field.kind === 'flag' ? v.boolean() : v.picklist(field.of)
  return described(schema as v.GenericSchema, docs[name])
}

/** First the settings that a queue's limit has, as always on the API page. */
const pageOrder = [...new Set([...guardNames, ...settingNames])]

export const settingEntries = () => entriesOf(pageOrder, requested)
const guardEntries = () => entriesOf(guardNames, requested)
export const settingAnswers = () => entriesOf(pageOrder, answered)
const guardAnswers = () => entriesOf(guardNames, answered)

/** What a setting is, and what the API page adds where it is set. */
const settingDocs: Readonly<Record<ConfigurationName, readonly [string, string]>> = {
  segmentSize: ['Items per segment, for lanes made from now on.', 'Default 100.'],
  bufferSegments: ['Segments kept near the head before others go to S3.', 'Default 1.'],
  maxDeliveries: ['An item that comes back this often is dead-lettered.', '`null`: never.'],
  capacity: ['Items the queue may hold.', '`null`: no limit.'],
  itemTtlSeconds: [
    'No pop returns an item this long after it was pushed, or was due.',
    'Counts from the moment it is set, for all items. `null`: they stay.',
  ],
  expired: [
    'What happens to items that expire, by that or by their own time.',
    '`null`: they are discarded.',
  ],
  pushLimit: ['How many calls may push.', 'A new one replaces the old. `null`: no limit.'],
  popLimit: ['How many calls may pop.', 'A new one replaces the old. `null`: no limit.'],
}

type Entries<Schema> = { readonly [Name in ConfigurationName as SnakeCase<Name>]: Schema }

const eachSetting = <Schema>(schemaOf: (name: ConfigurationName) => Schema) =>
  Object.fromEntries(
    configurationNames.map((name) => [snakeCase(name), schemaOf(name)]),
  ) as Entries<Schema>

export const limitInput = () => object({ ...guardEntries(), max_requests: maxRequests() })
export const limitAnswer = () => v.strictObject(guardAnswers())

function schemaOf(name: ConfigurationName): v.GenericSchema {
  const field = configurationFields[name]
  switch (field.kind) {
    case 'limit':
      return limitInput()
    case 'choice':
      return choice(field.of)
    case 'integer':
      return integer(1, field.max)
    default:
      return field satisfies never
  }
}

export const configurationEntries = () =>
  eachSetting((name) => {
    const field = configurationFields[name]
    const told = described(schemaOf(name), settingDocs[name].join(' '))
    return v.optional(field.removable ? v.nullable(told) : told)
  })

export const configurationAnswers = () =>
  eachSetting((name) => {
    const [doc] = settingDocs[name]
    const field = configurationFields[name]
    if (field.kind === 'limit') {
      return described(v.nullable(limitAnswer()), doc)
    }
    if (field.kind === 'choice') return described(v.nullable(v.picklist(field.of)), doc)
    return field.removable ? v.nullable(count(doc)) : count(doc)
  })

const sourceEntries = {
  from: v.picklist(['queue', 'pattern', 'default'] as const, 'must be as an answer gave it'),
  prefix: v.optional(described(v.string('must be text'), 'Of the pattern.')),
}

export const sourceAnswer = () =>
  described(
    v.strictObject(sourceEntries),
    'Where the settings come from: the first of these that exists.',
  )

/** So that a PUT accepts what a GET returned. */
export const ignoredSource = () =>
  optional(object(sourceEntries), 'As a GET returned it; it changes nothing.')

// A queue's configuration in requests and answers, both made from one table.

import * as v from 'valibot'
import {
  type ConfigurationName,
  configurationFields,
  configurationNames,
} from '../../engine/core/configuration.ts'
import { type SnakeCase, snakeCase } from '../../foundation/shared/wire-names.ts'
import { count } from './answer-fields.ts'
import { choice, described, integer, object, optional } from './fields.ts'
import { guardAnswers, guardEntries, maxRequests } from './settings.ts'

/** What a setting is, and what the API page adds where it is set. */
const docs: Readonly<Record<ConfigurationName, readonly [string, string]>> = {
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

const entriesOf = <Schema>(schemaOf: (name: ConfigurationName) => Schema) =>
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
  entriesOf((name) => {
    const field = configurationFields[name]
    const told = described(schemaOf(name), docs[name].join(' '))
    return v.optional(field.removable ? v.nullable(told) : told)
  })

export const configurationAnswers = () =>
  entriesOf((name) => {
    const [doc] = docs[name]
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

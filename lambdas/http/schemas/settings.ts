// A rate limit's settings in requests and answers, both made from one table.

import * as v from 'valibot'
import type { SnakeCase } from '../../foundation/shared/wire-names.ts'
import { snakeCase } from '../../foundation/shared/wire-names.ts'
import {
  guardNames,
  type SettingField,
  type SettingName,
  settingFields,
  settingNames,
} from '../../rate/core/setting-fields.ts'
import { count } from './answer-fields.ts'
import { choice, described, flag, integer, optional } from './fields.ts'

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
export const maxRequests = () => checkOf(settingFields.maxRequests)

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
export const guardEntries = () => entriesOf(guardNames, requested)
export const settingAnswers = () => entriesOf(pageOrder, answered)
export const guardAnswers = () => entriesOf(guardNames, answered)

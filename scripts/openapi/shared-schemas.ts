// A schema that several requests or answers share is in the document once, under its name.

import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { itemToPush } from '../../lambdas/http/push.ts'
import * as answers from '../../lambdas/http/schemas/answers.ts'
import { described } from '../../lambdas/http/schemas/fields.ts'
import * as rateAnswers from '../../lambdas/http/schemas/more-answers.ts'
import * as scheduleAnswers from '../../lambdas/http/schemas/more-answers.ts'
import { limitAnswer, limitInput, sourceAnswer } from '../../lambdas/http/schemas/settings.ts'

const named: Readonly<Record<string, v.GenericSchema>> = {
  Error: described(answers.error, 'Every error of the service.'),
  ItemToPush: itemToPush,
  Pushed: answers.pushed,
  ItemDetails: answers.itemDetails,
  PoppedItems: answers.poppedItems,
  Configuration: answers.configuration,
  ConfigurationSource: sourceAnswer(),
  Limit: limitAnswer(),
  LimitInput: limitInput(),
  QueuePatterns: answers.queuePatterns,
  Schedule: scheduleAnswers.scheduleChanged,
  ScheduleWithItem: scheduleAnswers.schedule,
  RateConfiguration: rateAnswers.rateConfiguration,
  RatePatterns: rateAnswers.ratePatterns,
  RateWindow: rateAnswers.rateWindow,
}

type Json = Readonly<Record<string, unknown>>

const conversion: ConversionConfig = { target: 'draft-2020-12', errorMode: 'throw' }

function converted(schema: v.GenericSchema): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, conversion) as Record<string, unknown>
  return rest
}

/** A schema without its description: each place may describe the same values in its own words. */
const essence = ({ description: _, ...rest }: Json): string => JSON.stringify(rest)

const names = new Map(
  Object.entries(named).map(([name, schema]) => [essence(converted(schema)), name]),
)

/** The schema as the document has it: with the names of shared schemas, here and anywhere inside. */
export const schemaOf = (schema: v.GenericSchema): Json => withNames(converted(schema)) as Json

export const sharedSchemas: Json = Object.fromEntries(
  Object.entries(named).map(([name, schema]) => [name, withNamesInside(converted(schema))]),
)

function withNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withNames)
  const schema = value as Json
  const name = names.get(essence(schema))
  if (name === undefined) return withNamesInside(schema)
  const { description } = schema
  return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) }
}

function withNamesInside(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withNames(value)]))
}

// An item in requests and answers, made from the table of its fields: what a push may give, and what the API page says
// of each field.

import * as v from 'valibot'
import {
  type GivenName,
  givenFields,
  type ItemField,
  type ToldName,
  toldFields,
} from '../../../shared/item-fields.ts'
import { count, described, epochSeconds, integer, optional, text, time } from './fields.ts'

type Docs<Name> = (Name extends GivenName ? { readonly given: string } : unknown) &
  (Name extends ToldName ? { readonly told: string } : unknown)

/** What the API page says of a field where a push gives it, and where an answer tells it. */
export const itemDocs: { readonly [Name in GivenName | ToldName]: Docs<Name> } = {
  id: { told: 'Opaque; the same at push, peek and pop, but for an item for later.' },
  priority: { given: '0 is served first. Default 0.', told: '0 is served first.' },
  pushedAtMs: { told: 'When it was pushed.' },
  deliveries: { told: '1 the first time.' },
  expiresInSeconds: {
    given: 'From this many seconds after the push on, no pop returns the item. Up to five years.',
  },
  expiresAtMs: {
    given:
      'The same as a time: epoch seconds, within five years. A time in the past means now: no pop returns it at all.',
    told: 'From then on, no pop returns it.',
  },
  delaySeconds: {
    given:
      'The item joins its queue this many seconds after the push, to the second and never early. Default 0.',
  },
  deliverAtMs: {
    given:
      'The same as a time: epoch seconds, within five years. A time in the past is now. Not together with `delay_seconds`.',
  },
  scheduledId: { told: 'The id of an item for later until it was due.' },
  dueMs: { told: 'When it was due, if it was for later or a schedule pushed it.' },
  reason: { told: 'Why it was dead-lettered.' },
  deadLetteredAtMs: {
    told: 'When it came to this dead-letter queue.',
  },
  priorDeliveries: { told: 'How often it had been delivered when it was dead-lettered.' },
}

function schemaOf({ is, given }: ItemField): v.GenericSchema {
  const max = given?.max ?? 0
  switch (is) {
    case 'integer':
      return integer(0, max)
    case 'number': {
      const sentence = `must be a number of seconds from 0 to ${max}`
      return v.pipe(v.number(sentence), v.minValue(0, sentence), v.maxValue(max, sentence))
    }
    case 'time':
      return epochSeconds()
    case 'text':
      return text(1, max)
    default:
      return is satisfies never
  }
}

/** What a push may give, by its names on the wire. */
export const givenEntries = (): Readonly<Record<string, v.GenericSchema>> =>
  Object.fromEntries(
    givenFields.map((field) => [field.wire, optional(schemaOf(field), itemDocs[field.name].given)]),
  )

function answered(is: ItemField['is'], doc: string): v.GenericSchema {
  if (is === 'text') return described(v.string(), doc)
  return is === 'time' ? time(doc) : count(doc)
}

/** What an answer tells of an item, by its names on the wire; of an item for later, what it has already. */
export const toldEntries = ({ isLater = false } = {}): Readonly<Record<string, v.GenericSchema>> =>
  Object.fromEntries(
    toldFields.flatMap(({ name, wire, is, told, ends, kept }) => {
      if (told === 'page' || (isLater && (ends || kept === undefined))) return []
      const schema = answered(is, itemDocs[name as ToldName].told)
      return [[wire, told === 'always' ? schema : v.optional(schema)]]
    }),
  )

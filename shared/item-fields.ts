// What an item has beside its JSON text: every field of it, once. A push may give a field, the item's entry may keep it,
// and answers may tell it; each does so under the name that stands here. The schemas of the HTTP API, its endpoints, the
// engine's checks, the hash of a push, the inbox's messages, the text of an entry, the client and the command line go
// by this table, and so do their types. A new field is a row here. TypeScript then asks for two things that browsers
// need not load: what the API page says of it (`lambdas/http/schemas/item.ts`), and its option on the command line
// (`cli/commands/push.ts`).
//
// In code a time is in milliseconds, and its name ends in `Ms`; on the wire it is in epoch seconds.

import { DELAY_SECONDS_MAX, ITEM_TTL_SECONDS_MAX, PRIORITY_MAX } from './bounds.ts'

export type ItemField = {
  /** Its name over HTTP, in the inbox, and in the lines of the command line. */
  readonly wire: string
  readonly is: 'integer' | 'number' | 'time' | 'text'
  /** A push may give it. */
  readonly given?: Giving
  /** The letter that it has in an entry. Nothing may give a letter another meaning. */
  readonly kept?: string
  /** The entry keeps it until the item becomes a dead letter, or comes back from there. */
  readonly ends?: true
  /** `always`: of every item. `page`: only pages of items tell it. */
  readonly told?: 'always' | 'sometimes' | 'page'
}

type Giving = {
  /** The largest number; for a text, how many characters it may have. A time has its own bounds. */
  readonly max?: number
  /** Another field, which says the same in another way: a push gives one of the two. */
  readonly not?: string
  /** What it is if nobody gives it; the inbox leaves it out then. */
  readonly standard?: number
  /**
   * What stands before the value in the hash by which a push with a key is known again; `false`: not in it, so a
   * repetition may give another value. No JSON begins with it, so no item can look like it; only the priority, which
   * every item has, needs nothing before it.
   */
  readonly hashed: string | false
}

/** In the order in which requests and answers have them. */
export const itemFields = {
  id: { wire: 'id', is: 'text', told: 'always' },
  /** 0 is served first, and is the default. */
  priority: {
    wire: 'priority',
    is: 'integer',
    given: { max: PRIORITY_MAX, standard: 0, hashed: '' },
    told: 'always',
  },
  pushedAtMs: { wire: 'pushed_at', is: 'time', told: 'always' },
  /** 1 the first time. */
  deliveries: { wire: 'deliveries', is: 'integer', told: 'always' },
  /** From this many seconds after the push on, no pop returns the item: an integer, up to five years. */
  expiresInSeconds: {
    wire: 'expires_in_seconds',
    is: 'integer',
    given: { max: ITEM_TTL_SECONDS_MAX, hashed: 'expires in ' },
  },
  /** From then on, no pop returns it; a consumer that has it may finish its work. */
  expiresAtMs: {
    wire: 'expires_at',
    is: 'time',
    given: { not: 'expiresInSeconds', hashed: 'expires at ' },
    kept: 'e',
    ends: true,
    told: 'sometimes',
  },
  /** The item joins its queue this many seconds after the push: up to five years. 0 means at once. */
  delaySeconds: {
    wire: 'delay_seconds',
    is: 'number',
    given: { max: DELAY_SECONDS_MAX, hashed: 'in ' },
  },
  /** The same as a time; a time in the past means now. */
  deliverAtMs: {
    wire: 'deliver_at',
    is: 'time',
    given: { not: 'delaySeconds', hashed: 'at ' },
  },
  /** Of an item that was pushed for later: its id until it was due. */
  scheduledId: { wire: 'scheduled_id', is: 'text', kept: 's', ends: true, told: 'sometimes' },
  /** When it was due, if it was for later or a schedule pushed it. */
  dueMs: { wire: 'due_at', is: 'time', kept: 'd', ends: true, told: 'sometimes' },
  /** When it came back from the dead letters to a queue whose items all expire. */
  redrivenMs: { wire: 'redriven_at', is: 'time', kept: 'r', ends: true },
  /** Why it was dead-lettered, on a dead-letter queue. */
  reason: { wire: 'reason', is: 'text', kept: 'w', ends: true, told: 'sometimes' },
  /** When it came to the dead-letter queue, and how often it had been delivered before that. */
  deadLetteredAtMs: {
    wire: 'dead_lettered_at',
    is: 'time',
    kept: 'a',
    ends: true,
    told: 'sometimes',
  },
  priorDeliveries: {
    wire: 'prior_deliveries',
    is: 'integer',
    kept: 'n',
    ends: true,
    told: 'sometimes',
  },
  /** `expired`: still stored, but no pop returns it. `waiting`: it was released with a delay. */
  state: { wire: 'state', is: 'text', told: 'page' },
  /** For a waiting item: when it comes back. */
  retryAtMs: { wire: 'retry_at', is: 'time', told: 'page' },
} as const satisfies Readonly<Record<string, ItemField>>

// The types that follow. They keep the comments above, which an editor shows.

type Fields = typeof itemFields
export type ItemFieldName = keyof Fields

type NamesWith<Column extends object> = {
  [Name in ItemFieldName]: Fields[Name] extends Column ? Name : never
}[ItemFieldName]

export type GivenName = NamesWith<{ readonly given: Giving }>
export type KeptName = NamesWith<{ readonly kept: string }>
export type ToldName = NamesWith<{ readonly told: 'always' | 'sometimes' }>
type AlwaysTold = NamesWith<{ readonly told: 'always' }>
/** What an item keeps for ever. */
export type LastingName = Exclude<KeptName & ToldName, NamesWith<{ readonly ends: true }>>
type TimeName = NamesWith<{ readonly is: 'time' }>

type ValueOf<Field> = Field extends { readonly is: 'text' } ? string : number
type All<Of, Name extends keyof Of> = { readonly [N in Name]: ValueOf<Of[N]> }
type Some<Of, Name extends keyof Of> = { readonly [N in Name]?: ValueOf<Of[N]> }
type SomeGiven<Of, Name extends keyof Of> = { readonly [N in Name]?: ValueOf<Of[N]> | undefined }

/** What a push says of an item. */
export type Given<Name extends GivenName = GivenName> = SomeGiven<Fields, Name>
/** What an item's entry keeps. */
export type Kept<Name extends KeptName = KeptName> = SomeGiven<Fields, Name>
/** What callers learn of an item. */
export type Told<Name extends ToldName = ToldName> = All<Fields, AlwaysTold & Name> &
  Some<Fields, Exclude<Name, AlwaysTold>>

/** The times that answers tell, by their names on the wire. */
type ToldTime = TimeName & NamesWith<{ readonly told: string }>
export const toldTimes = /* @__PURE__ */ Object.fromEntries(
  /* @__PURE__ */ rowsOf((name, { wire, is, told }) =>
    is === 'time' && told !== undefined ? [wire, name] : undefined,
  ),
) as { readonly [Name in ToldTime as Fields[Name]['wire']]: Name }

/** A field that a push may give, with all that the table says of it. */
export type GivenField = { readonly name: GivenName } & ItemField & Giving

/** In their order. */
export const givenFields: readonly GivenField[] = /* @__PURE__ */ rowsOf((name, field) =>
  field.given === undefined ? undefined : { name: name as GivenName, ...field, ...field.given },
)

/** Those that an entry keeps. */
export type KeptField = ItemField & { readonly name: KeptName; readonly kept: string }
export const keptFields: readonly KeptField[] = /* @__PURE__ */ rowsOf((name, field) => {
  const { kept } = field
  return kept === undefined ? undefined : { ...field, name: name as KeptName, kept }
})

/** Those that answers tell. */
export const toldFields: readonly (ItemField & { readonly name: ItemFieldName })[] =
  /* @__PURE__ */ rowsOf((name, field) =>
    field.told === undefined ? undefined : { name, ...field },
  )

/** In one call, so that a bundle drops the rows that it does not read. */
function rowsOf<Row>(rowOf: (name: ItemFieldName, field: ItemField) => Row | undefined): Row[] {
  const fields = Object.entries(itemFields) as [ItemFieldName, ItemField][]
  return fields.map((field) => rowOf(...field)).filter((row) => row !== undefined)
}

/** The field with this name in code, if there is one. */
export const fieldNamed = (name: string): ItemField | undefined =>
  Object.hasOwn(itemFields, name) ? itemFields[name as ItemFieldName] : undefined

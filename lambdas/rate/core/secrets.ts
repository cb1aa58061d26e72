import { FORMER_SECRETS_MAX, SECRET_SETTLES_MS } from './bounds.ts'

/** The one that signs, and after it those that may have signed. */
export type Secrets = readonly [Uint8Array, ...Uint8Array[]]

/** What tickets are signed with, as the table knows it. */
export type TicketSecrets = {
  readonly newest: Uint8Array
  /** It signs from then on; by then every process has read it, and takes what it signs. */
  readonly signsFromMs: number
  /** Signed before, the latest first: their tickets are good until they end. */
  readonly former: readonly Uint8Array[]
}

export const firstSecrets = (newest: Uint8Array): TicketSecrets => ({
  newest,
  signsFromMs: 0,
  former: [],
})

export function secretsAt({ newest, signsFromMs, former }: TicketSecrets, nowMs: number): Secrets {
  const [before, ...older] = former
  if (before === undefined || nowMs >= signsFromMs) return [newest, ...former]
  return [before, newest, ...older]
}

export type SecretsChange =
  | { readonly kind: 'changed'; readonly secrets: TicketSecrets }
  /** The last change is not known to every process yet: another would have them disagree. */
  | { readonly kind: 'settling'; readonly untilMs: number }

export function rotated(secrets: TicketSecrets, fresh: Uint8Array, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, ({ newest, former }) => ({
    newest: fresh,
    signsFromMs: nowMs + SECRET_SETTLES_MS,
    former: [newest, ...former].slice(0, FORMER_SECRETS_MAX),
  }))
}

/** Tickets that a former one has signed are void then, and so are those that a thief signs with it. */
export function withoutFormer(secrets: TicketSecrets, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, (before) =>
    before.former.length === 0 ? before : { ...before, former: [] },
  )
}

function settled(
  secrets: TicketSecrets,
  nowMs: number,
  change: (secrets: TicketSecrets) => TicketSecrets,
): SecretsChange {
  const { signsFromMs: untilMs } = secrets
  return nowMs < untilMs
    ? { kind: 'settling', untilMs }
    : { kind: 'changed', secrets: change(secrets) }
}

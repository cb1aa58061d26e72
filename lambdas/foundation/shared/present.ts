// The client holds this file too, so it imports nothing.

type Present<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/** The fields that are there: what is `undefined` is left out, as `JSON.stringify` would. */
export function present<T extends object>(fields: T): Present<T> {
  const there: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) there[name] = value
  return there as Present<T>
}

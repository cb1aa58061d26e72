// The client holds this file too, so it imports nothing.

type Present<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/** The fields that are there: what is `undefined` is left out, as `JSON.stringify` would. */
export const present = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Present<T>

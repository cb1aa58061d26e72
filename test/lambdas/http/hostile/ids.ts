import { callNames, calls, type HostileCase, short, words } from './hostile-case.ts'

const long = 'a'.repeat(101)

/** As they are sent. */
export const wrongIds = words(`
  a%20b %20 %00 a%00 a%0A %C3%A4 %F0%9F%8E%88 a%2Fb ..%2F..%2Fetc a%5Cb %2525 %2541 a%23b
  a%3Fb ~ a:b q%23orders a'b a"b %24%7Bx%7D {id} a,b a;b * a@b a=b a+b %E2%80%AEabc % %zz %C3
  ${long} ${long}-deadletter x-deadletter-deadletter ${'a'.repeat(8_000)}
`)

export const idCases: readonly HostileCase[] = wrongIds.flatMap((id) =>
  callNames.map((name) => {
    const { method, suffix, ...rest } = calls[name]
    return {
      name: `${name}: the id ${short(id)}`,
      method,
      path: () => `/queue/${id}${suffix}`,
      options: 'body' in rest ? { body: rest.body } : {},
      code: 'INVALID_QUEUE_ID',
    }
  }),
)

import type { HttpErrorCode } from '../../../../lambdas/http/answer.ts'
import { codeOf } from '../../../../lambdas/http/answer.ts'
import { type CallName, callNames, type HostileCase, short, words, wrong } from './hostile-case.ts'

export const numbers = [
  '',
  ...words(`
  + - one 1e1 %D9%A3 %20 1.5 1.0 1e2 %2B1 01 0x10 1_000 1,000 NaN Infinity null true %00 1%00 %EF%BC%91 1%20 %201
  [] 1;2
`),
]
export const flags = ['', ...words(`True TRUE FALSE 1 0 yes on null %74rue%00 true,true []`)]

const wrongCounts = [...numbers, '0', '-1', '101', '99999999999999999999', '-99999999999999999999']
const wrongLimits = wrongCounts

const each = (
  name: CallName,
  parameter: string,
  values: readonly string[],
  code: HttpErrorCode,
): HostileCase[] =>
  values.map((value) =>
    wrong(name, `${parameter}=${short(value)}`, code, {
      query: `${parameter}=${value}`,
      names: parameter,
    }),
  )

const cursors = [
  '',
  ...words(`
  AAAA %00 ../../etc null 0 MC4u MC5BQUFBQUFBQS4tMQ MC5BQUFBQUFBQS4xLjI LTEuQUFBQUFBQUEuMQ
  MC5BQUFBQUFBIS4x MC5BQUFBQUFBQS4xMjM0NTY3ODkwMTIz ${'x'.repeat(257)}
`),
]

const listCursors = ['', '%00', 'L2V0Yw', 'YSBi', 'x'.repeat(257), 'ZQ%3D%0A%0A%FF', 'fn5-']

const inQuery = (name: string, value: string) => `${name}=${value}&${name}=${value}`

const twice: readonly (readonly [CallName, string, string])[] = [
  ['pop', 'count', '1'],
  ['pop', 'require_ack', 'true'],
  ['pop', 'ttl_seconds', '5'],
  ['pop', 'allow_competing_consumers', 'true'],
  ['pop', 'acknowledge', 'AAAAAAAAAAA'],
  ['inspect', 'consistent', 'true'],
  ['browse', 'limit', '5'],
  ['browse', 'priority', '0'],
  ['browse', 'cursor', 'abc'],
]

const header = (name: string) => name.replaceAll('_', '-')

const pops = twice.filter(([call]) => call === 'pop')

const encodings = ['count=%', 'count=%zz', 'count=%C3', '%C3=1', 'count=%ED%A0%80', '%']

const unknown = [
  '',
  `${'x'.repeat(3_000)}`,
  ...words('verbose counts Count toString __proto__ constructor a[b]'),
]

export const parameterCases: readonly HostileCase[] = [
  ...each('pop', 'count', wrongCounts, 'INVALID_COUNT'),
  ...each('pop', 'ttl_seconds', numbers, 'INVALID_TTL'),
  ...each('pop', 'require_ack', flags, 'INVALID_PARAMETER'),
  ...each('pop', 'allow_competing_consumers', flags, 'INVALID_PARAMETER'),
  ...each('pop', 'wait_seconds', [...numbers, '0', '-1', '21'], 'INVALID_PARAMETER'),
  ...each('pop', 'acknowledge', ['', 'x'.repeat(65), '%00'.repeat(65)], 'INVALID_PARAMETER'),
  ...each('inspect', 'consistent', flags, 'INVALID_PARAMETER'),
  ...each('browse', 'limit', wrongLimits, 'INVALID_PARAMETER'),
  ...each('scheduled', 'limit', wrongLimits, 'INVALID_PARAMETER'),
  ...each('scheduled', 'cursor', cursors, 'INVALID_PARAMETER'),
  ...each('scheduled', 'from', [...numbers, '-1'], 'INVALID_PARAMETER'),
  ...each('scheduled', 'to', [...numbers, '-1'], 'INVALID_PARAMETER'),
  ...each('browse', 'priority', [...numbers, '-1', '2147483648'], 'INVALID_PRIORITY'),
  ...each('browse', 'cursor', cursors, 'INVALID_PARAMETER'),
  ...encodings.map((query) => wrong('pop', `the query ${query}`, 'INVALID_PARAMETER', { query })),
  ...twice.map(([name, parameter, value]) =>
    wrong(name, `${parameter} twice`, 'INVALID_PARAMETER', {
      query: inQuery(parameter, value),
      names: parameter,
    }),
  ),
  ...pops.flatMap(([name, parameter, value]) => [
    wrong(name, `${parameter} in query and header`, 'INVALID_PARAMETER', {
      query: `${parameter}=${value}`,
      headers: { [header(parameter)]: value },
    }),
    wrong(name, `${parameter} in two headers`, 'INVALID_PARAMETER', {
      headers: { [header(parameter)]: `${value},${value}` },
    }),
    wrong(name, `${parameter} in a header, empty`, codeOf(parameter), {
      headers: { [header(parameter)]: '' },
    }),
  ]),
  ...callNames.flatMap((name) =>
    unknown.map((parameter) =>
      wrong(name, `the parameter ${short(parameter)}`, 'UNKNOWN_FIELD', {
        query: `${parameter}=1`,
        names: parameter.slice(0, 60),
      }),
    ),
  ),
  ...[
    ...wrongLimits.map((value) => `limit=${value}`),
    ...listCursors.map((value) => `cursor=${value}`),
  ]
    .concat(['prefix=%2F', 'prefix=a%20b', 'prefix=%23', `prefix=${'a'.repeat(112)}`, 'prefix=~'])
    .map(
      (query): HostileCase => ({
        name: `list: ${short(query)}`,
        method: 'GET',
        path: () => '/queues',
        options: { query },
        code: 'INVALID_PARAMETER',
        names: query.endsWith('%FF') ? 'query' : query.split('=')[0],
      }),
    ),
  {
    name: 'list: an unknown parameter',
    method: 'GET',
    path: () => '/queues',
    options: { query: 'all=true' },
    code: 'UNKNOWN_FIELD',
    names: 'all',
  },
]

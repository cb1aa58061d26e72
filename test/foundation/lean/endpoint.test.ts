import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { describe, expect, it } from 'vitest'
import { endpointOf } from '../../../lambdas/foundation/lean/endpoint.ts'

/** Of every partition, and some that there are not yet. */
const regions = [
  'us-east-1',
  'us-west-2',
  'eu-central-1',
  'ap-southeast-5',
  'mx-central-1',
  'me-south-1',
  'il-central-1',
  'us-gov-west-1',
  'us-gov-east-1',
  'us-gov-south-9',
  'cn-north-1',
  'cn-northwest-1',
  'eusc-de-east-1',
  'us-iso-east-1',
  'us-isob-east-1',
  'eu-isoe-west-1',
  'us-isof-south-1',
  'xx-nowhere-1',
]

describe('DynamoDB', () => {
  const client = new DynamoDBClient({ region: 'us-east-1' })
  const sdk = (parameters: object): string =>
    client.config.endpointProvider(parameters as never, {}).url.href

  it.each(regions)('is where the SDK says it is: %s.', (region) => {
    for (const fips of [false, true]) {
      for (const dualStack of [false, true]) {
        const ours = endpointOf(region, {
          AWS_USE_FIPS_ENDPOINT: String(fips),
          ...(dualStack && { AWS_USE_DUALSTACK_ENDPOINT: 'true' }),
        })
        const theirs = sdk({ Region: region, UseFIPS: fips, UseDualStack: dualStack })
        expect([fips, dualStack, `${ours}/`]).toEqual([fips, dualStack, theirs])
      }
    }
  })

  it.each([
    [
      'for DynamoDB alone',
      { AWS_ENDPOINT_URL_DYNAMODB: 'http://a', AWS_ENDPOINT_URL: 'http://b' },
      'http://a',
    ],
    ['for every service', { AWS_ENDPOINT_URL: 'http://b:1/c' }, 'http://b:1/c'],
    [
      'and is ignored if that is said',
      { AWS_ENDPOINT_URL: 'http://b', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      'https://dynamodb.us-east-1.amazonaws.com',
    ],
    [
      'and is ignored where it is empty',
      { AWS_ENDPOINT_URL: '' },
      'https://dynamodb.us-east-1.amazonaws.com',
    ],
  ] as const)('is where the environment says, %s.', (_, environment, endpoint) => {
    expect(endpointOf('us-east-1', environment)).toBe(endpoint)
  })

  it.each([
    ['an endpoint and FIPS', { AWS_ENDPOINT_URL: 'http://b', AWS_USE_FIPS_ENDPOINT: 'true' }],
    [
      'an endpoint and dual-stack',
      { AWS_ENDPOINT_URL: 'http://b', AWS_USE_DUALSTACK_ENDPOINT: 'true' },
    ],
    ['neither true nor false', { AWS_USE_FIPS_ENDPOINT: 'yes' }],
    ['endpoints of accounts alone', { AWS_ACCOUNT_ID_ENDPOINT_MODE: 'required' }],
  ] as const)('is nowhere if the environment says what cannot be: %s.', (_, environment) => {
    expect(() => endpointOf('us-east-1', environment)).toThrow('Cannot tell where DynamoDB is')
  })

  it('is in no region that would be another host.', () => {
    expect(() => endpointOf('evil.example/', {})).toThrow('no region')
  })
})

import { describe, expect, test } from 'vitest'
import type { StackTemplate, Template } from '../../../local/template/assembly.ts'
import { Resources } from '../../../local/template/resources.ts'

const others: Template['Resources'] = {
  Table: { Type: 'AWS::DynamoDB::Table' },
  Named: { Type: 'AWS::DynamoDB::Table', Properties: { TableName: 'orders' } },
  Bucket: { Type: 'AWS::S3::Bucket' },
}

/** A property with this value, resolved. */
function resolved(value: unknown, more: Partial<Template> = {}, stacks: StackTemplate[] = []) {
  const template = {
    ...more,
    Resources: { ...others, It: { Type: 'Custom::It', Properties: { value } } },
  }
  const all = new Resources([...stacks, { stackName: 'Shop', template, directory: '/out' }])
  return all.ofType('Custom::It')[0]?.property('value')
}

const placeholder = (name: string) => `\${${name}}`

describe('a property of a template', () => {
  test.each([
    ['plain values stay', { a: [1, 'x', true, null] }, { a: [1, 'x', true, null] }],
    ['Ref of a table is its name', { Ref: 'Table' }, 'Shop-Table'],
    ['a name that the template gives is kept', { Ref: 'Named' }, 'orders'],
    ['a bucket has no capitals', { Ref: 'Bucket' }, 'shop-bucket'],
    [
      'GetAtt takes a list',
      { 'Fn::GetAtt': ['Table', 'Arn'] },
      'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Table',
    ],
    [
      'GetAtt takes a path',
      { 'Fn::GetAtt': 'Table.StreamArn' },
      'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Table/stream/local',
    ],
    [
      'Join resolves its parts',
      { 'Fn::Join': ['-', ['a', { Ref: 'Table' }, { Ref: 'AWS::Region' }]] },
      'a-Shop-Table-us-east-1',
    ],
    [
      'Sub knows resources, attributes, its own names and a literal',
      {
        'Fn::Sub': [
          ['Table', 'Named.Arn', 'own', 'AWS::StackName', '!Table'].map(placeholder).join('|'),
          { own: 'o' },
        ],
      },
      `Shop-Table|arn:aws:dynamodb:us-east-1:123456789012:table/orders|o|Shop|${placeholder('Table')}`,
    ],
    ['Select of a Split', { 'Fn::Select': [1, { 'Fn::Split': ['/', 'a/b/c'] }] }, 'b'],
    ['NoValue takes a property away', { a: { Ref: 'AWS::NoValue' }, b: 1 }, { b: 1 }],
    ['NoValue takes an entry away', [{ Ref: 'AWS::NoValue' }, 1], [1]],
    ['Base64', { 'Fn::Base64': 'hi' }, 'aGk='],
  ])('%s', (_, value, result) => {
    expect(resolved(value)).toEqual(result)
  })

  test('parameters by their defaults, mappings and conditions', () => {
    const more = {
      Parameters: { Stage: { Default: 'dev' } },
      Mappings: { Sizes: { dev: { memory: 128 } } },
      Conditions: {
        IsDev: { 'Fn::Equals': [{ Ref: 'Stage' }, 'dev'] },
        IsOther: { 'Fn::Not': [{ Condition: 'IsDev' }] },
        Both: { 'Fn::And': [{ Condition: 'IsDev' }, { Condition: 'IsOther' }] },
        Either: { 'Fn::Or': [{ Condition: 'IsDev' }, { Condition: 'IsOther' }] },
      },
    }
    expect(resolved({ Ref: 'Stage' }, more)).toBe('dev')
    expect(resolved({ 'Fn::FindInMap': ['Sizes', { Ref: 'Stage' }, 'memory'] }, more)).toBe(128)
    for (const [condition, result] of Object.entries({
      IsDev: 1,
      IsOther: 2,
      Both: 2,
      Either: 1,
    })) {
      expect(resolved({ 'Fn::If': [condition, 1, 2] }, more)).toBe(result)
    }
  })

  test('what another stack of the app exports', () => {
    const exporting: StackTemplate = {
      stackName: 'Base',
      directory: '/out',
      template: {
        Resources: { Bus: { Type: 'AWS::Events::EventBus' } },
        Outputs: { Bus: { Value: { Ref: 'Bus' }, Export: { Name: 'base-bus' } } },
      },
    }
    expect(resolved({ 'Fn::ImportValue': 'base-bus' }, {}, [exporting])).toBe('Base-Bus')
  })

  test.each([
    ['a resource that is not there', { Ref: 'Nobody' }, /mentions Nobody/],
    ['an unknown attribute', { 'Fn::GetAtt': ['Table', 'Colour'] }, /no attribute Colour of Table/],
    ['an unknown function', { 'Fn::Cidr': ['10.0.0.0/8', 4] }, /does not know Fn::Cidr/],
    ['an export that nobody makes', { 'Fn::ImportValue': 'x' }, /exports x/],
  ])('%s is one sentence', (_, value, says) => {
    expect(() => resolved(value)).toThrow(says)
  })

  test('a resource whose condition is false is not there', () => {
    const template: Template = {
      Conditions: { Never: { 'Fn::Equals': ['a', 'b'] } },
      Resources: { Table: { Type: 'AWS::DynamoDB::Table', Condition: 'Never' } },
    }
    const all = new Resources([{ stackName: 'Shop', template, directory: '/out' }])
    expect(all.ofType('AWS::DynamoDB::Table')).toEqual([])
  })
})

// Solidity compiled by solc and run in @ethereumjs/evm, without a chain around it.
import { Chain, Common, Hardfork } from '@ethereumjs/common';
import { EVM, getActivePrecompiles } from '@ethereumjs/evm';
import solc from 'solc';

// {code: deployed bytecode, selector of each function by signature}; fails on any warning.
export function compile(source, contract) {
  const input = {
    language: 'Solidity',
    sources: { 'verifier.sol': { content: source } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['evm.deployedBytecode.object', 'evm.methodIdentifiers'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors) throw new Error(output.errors.map((e) => e.formattedMessage).join('\n'));
  const { evm } = output.contracts['verifier.sol'][contract];
  return {
    code: Buffer.from(evm.deployedBytecode.object, 'hex'),
    selectors: evm.methodIdentifiers,
  };
}

const common = new Common({ chain: Chain.Mainnet, hardfork: Hardfork.Prague });

// EIP-2537 lost its two multiplications, and with them two numbers, after this EVM was released:
// G1MSM (12) and the pairing check (15) are 13 and 17 here.
function finalPrecompiles() {
  const address = (n) => `${n.toString(16)}`.padStart(40, '0');
  const released = getActivePrecompiles(common);
  return [
    [12, 13],
    [15, 17],
  ].map(([final, draft]) => ({
    address: { bytes: Uint8Array.from(Buffer.from(address(final), 'hex')) },
    function: released.get(address(draft)),
  }));
}

let machine;

// Runs code with call data: {ok, data, gas}.
export async function call(code, data) {
  machine ??= await EVM.create({ common, customPrecompiles: finalPrecompiles() });
  const result = await machine.runCode({ code, data, gasLimit: 30_000_000n });
  return {
    ok: result.exceptionError === undefined,
    data: Buffer.from(result.returnValue),
    gas: result.executionGasUsed,
  };
}

// Call data of a function whose arguments are static arrays of words, at any depth.
export function encode(selector, ...args) {
  const words = args.flat(Infinity).map((v) => BigInt(v).toString(16).padStart(64, '0'));
  return Buffer.from(selector + words.join(''), 'hex');
}

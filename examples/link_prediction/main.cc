// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>

#include <CLI/CLI.hpp>

#include "common/program.h"
#include "link_prediction/link_trainer.h"

namespace link_prediction {
namespace {

LinkOptions ParseOptions(int argc, char** argv) {
  LinkOptions o;
  CLI::App app(
      "link_prediction: learns which nodes an edge type joins, on a graph that graphd serves");
  // Scripts add options after their own: the last one counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  examples::AddCommonOptions(app, o);
  app.add_option("--etype", o.etype, "Edge type to predict; default: depends");
  app.add_option("--reverse_etype", o.reverse_etype,
                 "Reverse edge type; default: rev_<etype>, or the type itself");
  app.add_option("--fan_out_of", o.fan_out_of,
                 "EDGETYPE=FANOUT,...: fanouts of an edge type instead of --fan_out; for "
                 "evaluation, they are doubled. May be repeated");
  app.add_option("--num_negs", o.num_negs, "Uniform negatives per training edge")
      ->check(CLI::Range(1, 1000));
  app.add_option("--num_popular_negs", o.num_popular_negs,
                 "Negatives per training edge with destinations of other edges of the batch")
      ->check(CLI::Range(1, 1000));
  app.add_option("--num_eval_negs", o.num_eval_negs,
                 "Negatives per evaluated edge, both uniform and by popularity")
      ->check(CLI::Range(1, 1000));
  app.add_option("--num_eval_edges", o.num_eval_edges,
                 "Approximate number of edges in validation and in testing; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max_steps", o.max_steps, "End an epoch after so many steps; 0: never")
      ->check(CLI::NonNegativeNumber);
  examples::ParseCommandLine(app, argc, argv, o);
  return o;
}

graphd::EdgeTypeId ReverseOf(const graphd::Schema& schema, graphd::EdgeTypeId etype,
                             const std::string& given) {
  if (!given.empty()) return schema.EdgeTypeIdOf(given);
  const graphd::CanonicalEdgeType& there = schema.etype(etype);
  const graphd::CanonicalEdgeType back{there.dst, "rev_" + there.rel, there.src};
  for (graphd::EdgeTypeId e = 0; e < schema.num_etypes(); ++e) {
    if (schema.etype(e) == back) return e;
  }
  return etype;
}

void Train(int argc, char** argv) {
  const LinkOptions options = ParseOptions(argc, argv);
  examples::SetThreads(options.num_threads);
  examples::TrainerGroup group =
      examples::TrainerGroup::Join(options.session.rank, options.session.world_size);
  const graphd::DistGraph graph(graphd::Initialize(options.session), options.graph_name);
  const graphd::Schema& schema = graph.schema();
  const graphd::EdgeTypeId etype =
      schema.is_homogeneous() ? graphd::EdgeTypeId(0) : schema.EdgeTypeIdOf(options.etype);
  EdgeSets sets(graph, etype, ReverseOf(schema, etype, options.reverse_etype));
  LinkTrainer(graph, std::move(sets), options, group).Run();
}

}  // namespace
}  // namespace link_prediction

int main(int argc, char** argv) {
  return examples::RunProgram("link_prediction", argc, argv, link_prediction::Train);
}

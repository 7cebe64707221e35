// Reads nested structures with simdjson's on-demand parser. They have exactly the members used in JSONTypedSuite, in
// the order of the text.

#include "CJSONPeers.h"
#include "simdjson_here.h"

#if HAS_SIMDJSON
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace simdjson;

/// Parses a text and returns the result of `sum` for the document, or 0 for an error.
template <typename Sum>
uint64_t parse(const char *text, size_t count, Sum sum) {
    static on::parser parser;
    try {
        on::document document = parser.iterate(text, count, count + SIMDJSON_PADDING);
        return sum(document);
    } catch (const simdjson_error &) {
        return 0;
    }
}

template <typename Value>
std::string string(Value &&value) {
    std::string_view view = value.get_string();
    return std::string(view);
}

struct User {
    int64_t id;
    std::string name, screenName, description;
    int64_t followersCount;
    bool verified;
};

struct Mention {
    std::string screenName;
    int64_t id;
};

struct Status {
    std::string createdAt;
    int64_t id;
    std::string text;
    bool isReply;
    int64_t inReplyToStatusId;
    User user;
    int64_t retweetCount, favoriteCount;
    std::vector<Mention> mentions;
    std::string lang;
};

Status status(on::object object) {
    Status made;
    made.createdAt = string(object["created_at"]);
    made.id = object["id"].get_int64();
    made.text = string(object["text"]);
    on::value reply = object["in_reply_to_status_id"];
    made.isReply = !reply.is_null();
    made.inReplyToStatusId = made.isReply ? int64_t(reply.get_int64()) : 0;
    on::object user = object["user"];
    made.user.id = user["id"].get_int64();
    made.user.name = string(user["name"]);
    made.user.screenName = string(user["screen_name"]);
    made.user.description = string(user["description"]);
    made.user.followersCount = user["followers_count"].get_int64();
    made.user.verified = user["verified"].get_bool();
    made.retweetCount = object["retweet_count"].get_int64();
    made.favoriteCount = object["favorite_count"].get_int64();
    on::object entities = object["entities"];
    for (auto element : entities["user_mentions"].get_array()) {
        on::object mention = element.get_object();
        std::string name = string(mention["screen_name"]);
        made.mentions.push_back(Mention{std::move(name), mention["id"].get_int64()});
    }
    made.lang = string(object["lang"]);
    return made;
}

struct Event {
    int64_t id;
    std::string name;
    std::vector<int64_t> topicIds;
};

struct Price {
    int64_t amount, audienceSubCategoryId, seatCategoryId;
};

struct Area {
    int64_t areaId;
    std::vector<int64_t> blockIds;
};

struct SeatCategory {
    std::vector<Area> areas;
    int64_t seatCategoryId;
};

struct Performance {
    int64_t eventId, id;
    std::vector<Price> prices;
    std::vector<SeatCategory> seatCategories;
    int64_t start;
    std::string venueCode;
};

Performance performance(on::object object) {
    Performance made;
    made.eventId = object["eventId"].get_int64();
    made.id = object["id"].get_int64();
    for (auto element : object["prices"].get_array()) {
        on::object price = element.get_object();
        int64_t amount = price["amount"].get_int64();
        int64_t audience = price["audienceSubCategoryId"].get_int64();
        made.prices.push_back(Price{amount, audience, price["seatCategoryId"].get_int64()});
    }
    for (auto element : object["seatCategories"].get_array()) {
        on::object category = element.get_object();
        SeatCategory seats;
        for (auto area : category["areas"].get_array()) {
            on::object members = area.get_object();
            Area one;
            one.areaId = members["areaId"].get_int64();
            for (auto block : members["blockIds"].get_array()) one.blockIds.push_back(block.get_int64());
            seats.areas.push_back(std::move(one));
        }
        seats.seatCategoryId = category["seatCategoryId"].get_int64();
        made.seatCategories.push_back(std::move(seats));
    }
    made.start = object["start"].get_int64();
    made.venueCode = string(object["venueCode"]);
    return made;
}

uint64_t bits(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}

struct Person {
    int64_t id;
    std::string name, email;
    int64_t age;
    bool active;
    double score;
    std::string city;
    int64_t created;
    std::optional<std::string> note;
    int64_t visits;
    std::optional<int64_t> sponsor;
    std::optional<double> balance;
};

Person person(on::object object) {
    Person made;
    made.id = object["id"].get_int64();
    made.name = string(object["name"]);
    made.email = string(object["email"]);
    made.age = object["age"].get_int64();
    made.active = object["active"].get_bool();
    made.score = object["score"].get_double();
    made.city = string(object["city"]);
    made.created = object["created"].get_int64();
    on::value value;
    if (!object["note"].get(value)) made.note = string(value);
    made.visits = object["visits"].get_int64();
    value = object["sponsor"];
    if (!value.is_null()) made.sponsor = int64_t(value.get_int64());
    if (!object["balance"].get(value)) made.balance = double(value.get_double());
    return made;
}

/// A task in a document.
struct Task {
    int64_t id;
    std::string title;
    bool done;
    std::optional<int64_t> due;
    int64_t priority;
    std::optional<std::vector<std::string>> tags;
};

Task task(on::object object) {
    Task made;
    made.id = object["id"].get_int64();
    made.title = string(object["title"]);
    made.done = object["done"].get_bool();
    on::value value;
    if (!object["due"].get(value)) made.due = int64_t(value.get_int64());
    made.priority = object["priority"].get_int64();
    if (!object["tags"].get(value)) {
        made.tags.emplace();
        for (auto tag : value.get_array()) made.tags->push_back(string(tag));
    }
    return made;
}

} // namespace

namespace {

/// The use of the values that a function makes: ignore them or add them up.
enum Purpose { making, adding };

template <Purpose purpose>
uint64_t people(const char *text, size_t count) {
    return parse(text, count, [](on::document &document) {
        std::vector<Person> people;
        for (auto element : document.get_array()) people.push_back(person(element.get_object()));
        keep(people);
        uint64_t sum = purpose == making;
        if (purpose == adding) for (const Person &one : people) {
            sum += one.id + one.name.size() + one.email.size() + one.age + one.active + bits(one.score);
            sum += one.city.size() + one.created + (one.note ? one.note->size() : 0) + one.visits;
            sum += one.sponsor.value_or(0) + bits(one.balance.value_or(0));
        }
        return sum;
    });
}

template <Purpose purpose>
uint64_t documents(const char *text, size_t count) {
    uint64_t sum = 0;
    const char *end = text + count;
    while (text < end) {
        const char *newline = static_cast<const char *>(std::memchr(text, '\n', end - text));
        if (!newline) newline = end;
        sum += parse(text, newline - text, [](on::document &document) {
            Task one = task(document.get_object());
            keep(one);
            if (purpose == making) return uint64_t(1);
            uint64_t sum = one.id + one.title.size() + one.done + one.due.value_or(0) + one.priority;
            if (one.tags) for (const std::string &tag : *one.tags) sum += tag.size();
            return sum;
        });
        text = newline + 1;
    }
    return sum;
}

template <Purpose purpose>
uint64_t posts(const char *text, size_t count) {
    return parse(text, count, [](on::document &document) {
        std::vector<Status> statuses;
        for (auto element : document["statuses"].get_array()) statuses.push_back(status(element.get_object()));
        keep(statuses);
        uint64_t sum = purpose == making;
        if (purpose == adding) for (const Status &one : statuses) {
            sum += one.createdAt.size() + one.id + one.text.size() + one.inReplyToStatusId + one.user.id;
            sum += one.user.name.size() + one.user.screenName.size() + one.user.description.size();
            sum += one.user.followersCount + one.user.verified + one.retweetCount + one.favoriteCount;
            for (const Mention &mention : one.mentions) sum += mention.screenName.size() + mention.id;
            sum += one.lang.size();
        }
        return sum;
    });
}

uint64_t sum(const std::unordered_map<std::string, Event> &events) {
    uint64_t sum = 0;
    for (const auto &pair : events) {
        sum += pair.first.size() + pair.second.id + pair.second.name.size();
        for (int64_t topic : pair.second.topicIds) sum += topic;
    }
    return sum;
}

uint64_t sum(const std::vector<Performance> &performances) {
    uint64_t sum = 0;
    for (const Performance &one : performances) {
        sum += one.eventId + one.id + one.start + one.venueCode.size();
        for (const Price &price : one.prices) {
            sum += price.amount + price.audienceSubCategoryId + price.seatCategoryId;
        }
        for (const SeatCategory &category : one.seatCategories) {
            sum += category.seatCategoryId;
            for (const Area &area : category.areas) {
                sum += area.areaId;
                for (int64_t block : area.blockIds) sum += block;
            }
        }
    }
    return sum;
}

template <Purpose purpose>
uint64_t catalogue(const char *text, size_t count) {
    return parse(text, count, [](on::document &document) {
        std::unordered_map<std::string, Event> events;
        std::vector<Performance> performances;
        for (auto field : document["events"].get_object()) {
            std::string_view key = field.unescaped_key();
            std::string name(key);
            on::object object = field.value().get_object();
            Event event;
            event.id = object["id"].get_int64();
            event.name = string(object["name"]);
            for (auto topic : object["topicIds"].get_array()) event.topicIds.push_back(topic.get_int64());
            events.emplace(std::move(name), std::move(event));
        }
        for (auto element : document["performances"].get_array()) {
            performances.push_back(performance(element.get_object()));
        }
        keep(events);
        keep(performances);
        return purpose == making ? 1 : sum(events) + sum(performances);
    });
}

template <Purpose purpose>
uint64_t coordinates(const char *text, size_t count) {
    return parse(text, count, [](on::document &document) {
        std::vector<std::vector<std::vector<std::vector<double>>>> outlines;
        for (auto feature : document["features"].get_array()) {
            std::vector<std::vector<std::vector<double>>> rings;
            on::object geometry = feature["geometry"].get_object();
            for (auto ring : geometry["coordinates"].get_array()) {
                std::vector<std::vector<double>> points;
                for (auto point : ring.get_array()) {
                    std::vector<double> numbers;
                    for (auto number : point.get_array()) numbers.push_back(number.get_double());
                    points.push_back(std::move(numbers));
                }
                rings.push_back(std::move(points));
            }
            outlines.push_back(std::move(rings));
        }
        keep(outlines);
        uint64_t sum = purpose == making;
        if (purpose == adding)
            for (const auto &rings : outlines)
                for (const auto &ring : rings)
                    for (const auto &point : ring)
                        for (double number : point) sum += bits(number);
        return sum;
    });
}

} // namespace

#define PEER(name)                                                                                                     \
    uint64_t cjsonpeers_simdjson_##name(const char *text, size_t count) { return name<making>(text, count); }           \
    uint64_t cjsonpeers_simdjson_##name##_checksum(const char *text, size_t count) {                                    \
        return name<adding>(text, count);                                                                              \
    }

PEER(posts)
PEER(catalogue)
PEER(coordinates)
PEER(people)
PEER(documents)

SIMDJSON_HERE_END

#else

uint64_t cjsonpeers_simdjson_posts(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_posts_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_catalogue(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_catalogue_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_coordinates(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_coordinates_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_people(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_people_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_documents(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_documents_checksum(const char *, size_t) { return 0; }

#endif
